// What a line of nccl-tests' text says: header of a table, list of devices, settings.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simsgd {

/// Where the columns of a table are, by the names in its header. -1: there is none.
struct NcclColumns {
  struct Half {
    int time = -1, algbw = -1, busbw = -1, wrong = -1, cv = -1;
    double time_s = 0, bandwidth_Bps = 0;  ///< one unit of each; 0 where the header has not told
  };
  int size = -1, type = -1, redop = -1, root = -1;
  double size_bytes = 0;
  Half halves[2];  ///< out of place, in place
  std::size_t count = 0;

  /// Whether `line` is a header: the names, and the units where they stand behind them in parentheses.
  bool read_names(std::string_view line);
  /// The line below the names, `#  (B)  (elements)  (us)`: a unit belongs to the name that ends above its
  /// end.
  bool read_units(std::string_view line);
  /// Whether rows can be read: there are sizes and times, with units.
  bool usable() const;

 private:
  void set_unit(std::size_t column, std::string_view unit);
  std::vector<std::size_t> ends_;  // of each name in its line
};

/// "# Rank 8 Pid .. on HOST device 0 ..": who took part.
class NcclDevices {
 public:
  void clear();
  bool read(std::string_view line);
  int workers() const;  ///< 0 where there is no list; of one group where they are split into equal ones
  int nodes() const;

 private:
  std::map<int, std::string> hosts_;  // of a rank
  std::set<int> groups_;
};

}  // namespace simsgd
