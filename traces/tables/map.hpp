// A map: which columns of a CSV, or JSON pointers into a record, are which quantity in which unit, what they
// were measured of, and which rows count. docs/import.md has examples.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "traces/imported_file.hpp"

namespace simsgd {

/// Where a value stands: a column by name or by number from 1, or a JSON pointer.
struct MapPlace {
  std::string name;
  int number = 0;
  std::string key;  ///< in the map, for errors
};

/// One quantity of each row.
struct MapValue {
  RawValue from, minus, over, deviation, samples, labels;
  std::string quantity, unit;
  void fields(Fields& f);
};

struct MapBytes {
  RawValue from;
  std::string unit;
  double times = 1;
  void fields(Fields& f);
};

/// What maps of all formats have.
struct MapFields {
  std::vector<MapValue> values;
  std::optional<MapBytes> bytes;
  RawValue operation, campaign, workers, nodes, labels, constants, where;
  void fields(Fields& f);
};

/// A cell that a row lacks, or that is empty there, is an empty text.
using MapCells = std::vector<std::string_view>;

/// A map that was checked: what is made of one row.
class Mapping {
 public:
  /// `pointers`: places are JSON pointers. Throws ParameterError.
  Mapping(const MapFields& map, bool pointers);

  /// The cells that a row needs, in this order.
  const std::vector<MapPlace>& places() const { return places_; }
  /// Adds what the map makes of a row. `constants`: as the map's own, of this file.
  void add(const MapCells& cells, const ImportConstants& constants, std::size_t line,
           ImportedFile& file) const;

 private:
  struct Value {
    std::string quantity;
    double scale = 1;
    int from = -1, minus = -1, deviation = -1, samples = -1;  // places; -1: none
    std::vector<int> over;
    std::map<std::string, std::string> labels;
  };
  struct Label {
    std::string name;
    int from = -1;
    std::vector<int> over;  // places that a number is divided by
    double times = 1;
  };
  struct Filter {
    int place = -1;
    std::vector<std::string> admitted;
  };

  int place(const RawValue& value, const std::string& key);
  int place(const Json& value, const std::string& key);
  std::vector<int> places_of(const Json& list, const std::string& key);
  int one_more(MapPlace found);
  void add_value(const MapValue& value, const std::string& key);
  void add_labels(const RawValue& labels);
  void add_constants(const RawValue& constants);
  void add_filters(const RawValue& where);
  bool admitted(const MapCells& cells) const;
  bool divide(const std::vector<int>& over, const MapCells& cells, double& value, ImportedFile& file) const;
  bool describe(const MapCells& cells, Measurement& row, ImportedFile& file) const;
  void add_one(const Value& value, const MapCells& cells, Measurement row, ImportedFile& file) const;

  bool pointers_;
  std::vector<MapPlace> places_;
  std::vector<Value> values_;
  std::vector<Filter> filters_;
  std::vector<Label> labels_;
  int bytes_ = -1, operation_ = -1, campaign_ = -1, workers_ = -1, nodes_ = -1;
  double bytes_scale_ = 1;
  ImportConstants constants_;
};

/// Constants by name, as maps and `--set` write them: operation, campaign, workers, nodes, else a label.
/// False, and what is wrong, where it cannot be.
bool set_constant(ImportConstants& constants, const std::string& name, const std::string& value,
                  std::string& problem, std::string& remedy);

/// A scalar of JSON as the text that a CSV would have; empty for null, lists and objects.
std::string scalar_text(const Json& value);

}  // namespace simsgd
