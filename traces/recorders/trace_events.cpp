#include "traces/recorders/trace_events.hpp"

#include <span>
#include <utility>
#include <variant>

#include "traces/reading/json.hpp"

namespace simsgd {

namespace {

// Where a value goes to: a field of the event, or of what stands beside the events.
struct Target {
  double* number = nullptr;
  std::string* text = nullptr;
  TraceId* id = nullptr;
  bool phase = false, sizes = false;
};

using EventField = std::variant<double TraceEvent::*, std::string TraceEvent::*, TraceId TraceEvent::*>;
using NamedField = std::pair<std::string_view, EventField>;
constexpr NamedField kFields[] = {{"ts", &TraceEvent::ts_us},     {"dur", &TraceEvent::dur_us},
                                  {"cat", &TraceEvent::category}, {"name", &TraceEvent::name},
                                  {"pid", &TraceEvent::pid},      {"tid", &TraceEvent::tid}};
constexpr NamedField kArguments[] = {{"Seq", &TraceEvent::seq},
                                     {"step", &TraceEvent::step},
                                     {"mb_id", &TraceEvent::micro_batch},
                                     {"Group size", &TraceEvent::group_size},
                                     {"External id", &TraceEvent::external_id},
                                     {"external id", &TraceEvent::external_id},
                                     {"correlation", &TraceEvent::correlation},
                                     {"model_chunk", &TraceEvent::chunk},
                                     {"In msg nelems", &TraceEvent::in_elements},
                                     {"Out msg nelems", &TraceEvent::out_elements},
                                     {"Sequence number", &TraceEvent::sequence_number},
                                     {"name", &TraceEvent::called},
                                     {"dtype", &TraceEvent::dtype},
                                     {"shape", &TraceEvent::shape},
                                     {"Collective name", &TraceEvent::collective},
                                     {"Process Group Name", &TraceEvent::group_name},
                                     {"Process Group Ranks", &TraceEvent::group_ranks}};

Target target_of(std::span<const NamedField> fields, std::string_view key, TraceEvent& event) {
  Target target;
  for (const auto& [name, field] : fields) {
    if (name != key) continue;
    if (const auto* number = std::get_if<0>(&field)) target.number = &(event.**number);
    if (const auto* text = std::get_if<1>(&field)) target.text = &(event.**text);
    if (const auto* id = std::get_if<2>(&field)) target.id = &(event.**id);
  }
  return target;
}

class EventReader final : public JsonHandler {
 public:
  EventReader(TraceSink& sink, TraceHead& head) : sink_(sink), head_(head) {}

  bool null() { return value(); }
  bool boolean(bool) { return value(); }
  bool number_integer(number_integer_t number) { return value(static_cast<double>(number)); }
  bool number_unsigned(number_unsigned_t number) { return value(static_cast<double>(number)); }
  bool number_float(number_float_t number, const string_t&) { return value(number); }

  bool string(string_t& text) {
    const Target target = taken();
    if (target.phase && !text.empty()) event_.phase = text[0];
    if (target.text != nullptr) target.text->swap(text);  // the parser clears it before the next one
    if (target.id != nullptr && !read_number(text, target.id->number)) target.id->text.swap(text);
    if (target.number != nullptr) (void)read_number(text, *target.number);
    return true;
  }

  bool key(string_t& name) {
    target_ = {};
    if (depth == event_depth_ && event_depth_ != 0) {
      target_ = target_of(kFields, name, event_);
      target_.phase = name == "ph";
      in_arguments_ = name == "args";
    } else if (in_arguments_ && depth == event_depth_ + 1) {
      target_ = target_of(kArguments, name, event_);
      target_.sizes = name == "Input Dims";
    } else if (event_depth_ == 0) {
      head_key(name);
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (!enter()) return false;
    if (depth == list_depth_ + 1 && list_depth_ != 0) {
      event_depth_ = depth;
      event_.clear();
      in_arguments_ = false;
    }
    target_ = {};
    return true;
  }

  bool end_object() {
    if (depth == event_depth_ && event_depth_ != 0) {
      sink_.event(event_, head_);
      ++events;
      event_depth_ = 0;
    } else if (in_arguments_ && depth == event_depth_ + 1) {
      in_arguments_ = false;
    }
    --depth;
    return true;
  }

  bool start_array(std::size_t) {
    if (!enter()) return false;
    if (list_depth_ != 0 && depth == list_depth_ + 1) ++no_events;
    if (list_depth_ == 0 && (depth == 1 || (depth == 2 && key_ == "traceEvents"))) {
      list_depth_ = depth;
      has_list = true;
    }
    if (target_.sizes && sizes_depth_ == 0) sizes_depth_ = depth;
    target_ = {};
    return true;
  }

  bool end_array() {
    if (sizes_depth_ != 0 && depth == sizes_depth_ + 1) event_.size_ends.push_back(event_.sizes.size());
    if (depth == sizes_depth_) sizes_depth_ = 0;
    if (depth == list_depth_) list_depth_ = 0;
    --depth;
    return true;
  }

  std::size_t events = 0, no_events = 0;
  bool has_list = false;

 private:
  Target taken() {
    if (depth == list_depth_ && list_depth_ != 0) ++no_events;
    // An input that is not a tensor, such as a number: nothing in the list, or an empty list.
    if (sizes_depth_ != 0 && depth == sizes_depth_) event_.size_ends.push_back(event_.sizes.size());
    return std::exchange(target_, {});
  }

  bool value() { return (void)taken(), true; }

  bool value(double number) {
    if (sizes_depth_ != 0 && depth == sizes_depth_ + 1) {
      event_.sizes.push_back(number);
      return true;
    }
    const Target target = taken();
    if (target.number != nullptr) *target.number = number;
    if (target.id != nullptr) target.id->number = number;
    return true;
  }

  void head_key(const std::string& name) {
    if (depth == 1) key_ = name;
    if (depth == 2 && key_ == "distributedInfo") {
      if (name == "rank") target_.number = &head_.rank;
      if (name == "world_size") target_.number = &head_.world_size;
      if (name == "backend") target_.text = &head_.backend;
    }
    if (depth == 3 && key_ == "deviceProperties" && name == "name" && head_.device.empty())
      target_.text = &head_.device;
  }

  TraceSink& sink_;
  TraceHead& head_;
  TraceEvent event_;
  std::string key_;  // of the document
  Target target_;
  int list_depth_ = 0, event_depth_ = 0, sizes_depth_ = 0;
  bool in_arguments_ = false;
};

}  // namespace

std::vector<double> TraceEvent::input(std::size_t i) const {
  if (i >= size_ends.size()) return {};
  const auto at = [this](std::size_t place) { return sizes.begin() + static_cast<std::ptrdiff_t>(place); };
  return {at(i == 0 ? 0 : size_ends[i - 1]), at(size_ends[i])};
}

void TraceEvent::clear() {
  phase = 0;
  for (std::string* text : {&category, &name, &pid.text, &tid.text, &collective, &dtype, &group_name,
                            &group_ranks, &shape, &called})
    text->clear();
  for (double* number : {&pid.number, &tid.number, &ts_us, &dur_us, &external_id, &correlation,
                         &sequence_number, &seq, &group_size, &in_elements, &out_elements, &outputs})
    *number = kNotGiven;
  sizes.clear();
  size_ends.clear();
}

TraceRead read_trace_events(Input& input, ImportedFile& file, TraceSink& sink, bool may_be_open) {
  TraceRead read;
  EventReader reader(sink, read.head);
  const JsonEnd end = read_json(input, reader);
  read.events = reader.events;
  read.has_list = reader.has_list;
  read.cut = end.cut;
  if (end.cut && may_be_open && reader.depth == 1)
    file.understand("files that are still being written");
  else if (end.cut)
    file.ignore("truncated files, read up to their end");
  if (end.mended > 0) file.ignore("bytes that are control characters or not UTF-8, replaced", end.mended);
  if (reader.no_events > 0) file.ignore("elements that are not events", reader.no_events);
  return read;
}

}  // namespace simsgd
