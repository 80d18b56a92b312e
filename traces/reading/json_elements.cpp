#include "traces/reading/json_elements.hpp"

#include <utility>
#include <vector>

#include "traces/reading/json_stream.hpp"

namespace simsgd {

namespace {

class ElementReader final : public JsonHandler {
 public:
  explicit ElementReader(const JsonElements& wanted) : wanted_(wanted) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t number) { return put(number); }
  bool number_unsigned(number_unsigned_t number) { return put(number); }
  bool number_float(number_float_t number, const string_t&) { return put(number); }
  bool string(string_t& text) { return put(std::move(text)); }

  bool key(string_t& name) {
    if (depth == 1) top_key_ = name;
    key_ = name;
    return true;
  }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

 private:
  bool in_list() const { return in_list_ && depth == 2; }
  // Whether a value that begins here is one of those wanted.
  bool begins() const { return in_list() || (depth == 1 && wanted_.other.contains(top_key_)); }

  nlohmann::json* insert(nlohmann::json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    nlohmann::json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  bool put(nlohmann::json value) {
    if (open_.empty() && !begins()) return true;
    insert(std::move(value));
    if (open_.empty()) give();
    return true;
  }

  bool open(nlohmann::json value) {
    if (!open_.empty() || begins())
      open_.push_back(insert(std::move(value)));
    else if (depth == 1 && top_key_ == wanted_.list && value.is_array())
      in_list_ = true;
    return enter();
  }

  bool close() {
    --depth;
    if (!open_.empty()) {
      open_.pop_back();
      if (open_.empty()) give();
    } else if (depth == 1) {
      in_list_ = false;
    }
    return true;
  }

  void give() {
    if (in_list_)
      wanted_.element(root_);
    else
      wanted_.value(top_key_, root_);
    root_ = nullptr;
  }

  const JsonElements& wanted_;
  std::string top_key_, key_;
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;  // only the last one grows, so that those before it stay where they are
  bool in_list_ = false;
};

}  // namespace

void read_json_elements(Input& input, ImportedFile& file, const JsonElements& wanted) {
  ElementReader reader(wanted);
  const JsonEnd end = read_json(input, reader);
  if (end.cut) file.ignore("files that end too early; what came before was read");
  if (end.mended > 0) file.ignore("bytes that are no UTF-8, or control characters; replaced", end.mended);
}

}  // namespace simsgd
