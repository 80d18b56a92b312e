#include "analysis/faces/vega.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/questions/tables.hpp"

namespace simsgd::faces {

namespace {

constexpr std::size_t kColours = 8;
const char* const kShapes[] = {"circle", "square", "triangle-up"};
constexpr double kPlaceWidth = 112, kPlaceHeight = 40;

// As many as a chart of half the page's width has room for.
std::size_t legend_columns(const std::vector<std::string>& labels) {
  std::size_t longest = 1;
  for (const std::string& label : labels)
    longest = std::max(longest, std::min<std::size_t>(label.size(), 38));
  return std::clamp<std::size_t>(64 / (longest + 4), 1, 6);
}

Spec channel(const std::string& field, const std::string& type, const std::string& title) {
  return {{"field", field}, {"type", type}, {"title", title}};
}

/// Texts in their order.
Spec ordered(const ChartAxis& axis, const std::string& type = "nominal") {
  Spec made = channel(axis.field, type, axis.name);
  made["sort"] = axis.labels;
  return made;
}

/// Numbers along a direction.
Spec along(const Direction& direction) {
  using Scale = Direction::Scale;
  const Scale scale = direction.scale;
  Spec made = channel(direction.field, "quantitative", direction.title);
  if (scale == Scale::from_zero || scale == Scale::spread)
    made["scale"] = {{"zero", scale == Scale::from_zero}};
  if (scale == Scale::doubling) made["scale"] = {{"type", "log"}, {"base", 2}};
  if (scale == Scale::tenfold) {
    made["scale"] = {{"type", "log"}, {"nice", false}};
    made["axis"] = {{"tickCount", 4}};
  }
  if (scale == Scale::doubling && direction.ticks.empty()) made["axis"]["tickCount"] = 8;
  if (!direction.ticks.empty()) {
    made["scale"]["nice"] = false;
    made["axis"]["values"] = direction.ticks;
  }
  if (!direction.format.empty()) made["axis"]["format"] = direction.format;
  return made;
}

/// All columns, numbers with four digits.
Spec tooltip(const Chart& chart) {
  Spec shown = Spec::array();
  for (const Column& column : chart.columns) {
    const bool text = column.unit.empty();
    Spec each = channel(column.field, text ? "nominal" : "quantitative",
                        text || column.unit == "1" ? column.title : column.title + " (" + column.unit + ")");
    if (!text) each["format"] = ".4~g";
    shown.push_back(each);
  }
  return shown;
}

Spec line_mark(const char* colour) {
  return {{"type", "line"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1.5}, {"color", colour}};
}

Spec quantity(const std::string& field) { return {{"field", field}, {"type", "quantitative"}}; }

/// A dashed line at one value along `way`, which is no row's.
Spec line_at(const char* way, const char* field, const Spec& value, const char* colour) {
  return {{"data", {{"values", {{{field, value}}}}}},
          {"mark", {{"type", "rule"}, {"strokeDash", {5, 4}}, {"color", colour}}},
          {"encoding", {{way, quantity(field)}}}};
}

Spec calculated(const std::string& expression, const std::string& as) {
  return {{"calculate", expression}, {"as", as}};
}

/// Draws one chart.
class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        marks_(chart.marks),
        unit_(axis_unit(marks_.x.unit, marks_.largest)),
        tips_(tooltip(chart)),
        colour_(Spec{{"value", "var(--s1)"}}) {
    if (chart.series) colour_ = coloured(*chart.series);
  }

  Spec drawn() {
    spec_ = {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
             {"description", chart_.description},
             {"width", "container"},
             {"height", 320},
             {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
             {"data", {{"name", "rows"}}},
             {"params", Spec::array({{{"name", "highlight"}, {"value", ""}}})}};
    // In the order of Marks::Kind.
    static constexpr void (Drawing::*kDraw[])() = {&Drawing::lines,  &Drawing::intervals, &Drawing::parts,
                                                   &Drawing::bars,   &Drawing::boxes,     &Drawing::dots,
                                                   &Drawing::ratios, &Drawing::places};
    (this->*kDraw[static_cast<std::size_t>(marks_.kind)])();
    return std::move(spec_);
  }

 private:
  Spec coloured(const ChartAxis& axis) const {
    Spec made = channel(axis.field, "nominal", axis.name), range = Spec::array();
    for (std::size_t i = 0; i < axis.labels.size(); ++i)
      range.push_back("var(--s" + std::to_string(i % kColours + 1) + ")");
    made["scale"] = {{"domain", axis.labels}, {"range", range}};
    made["legend"] = {{"columns", legend_columns(axis.labels)}};
    return made;
  }

  /// Told apart also by who sees no colour.
  Spec shaped() const {
    if (!chart_.series) return {{"value", "circle"}};
    Spec made = channel(chart_.series->field, "nominal", chart_.series->name), range = Spec::array();
    for (std::size_t i = 0; i < chart_.series->labels.size(); ++i)
      range.push_back(kShapes[i / kColours % std::size(kShapes)]);
    made["scale"] = {{"domain", chart_.series->labels}, {"range", range}};
    return made;
  }

  /// Faint where a legend click or the page's "Highlight" has chosen others.
  Spec strong(double opacity) const {
    if (!chart_.series) return {{"value", opacity}};
    const Spec chosen = {
        {"and", {{{"param", "picked"}}, "!highlight || datum." + chart_.series->field + " === highlight"}}};
    return {{"condition", {{"test", chosen}, {"value", opacity}}}, {"value", opacity * 0.12}};
  }

  /// The parameter that `strong` reads, of the first layer that has the legend's colours. A click shows what
  /// was clicked, one more brings the others back.
  static Spec picked(const std::string& field) {
    return Spec::array({{{"name", "picked"},
                         {"select", {{"type", "point"}, {"fields", {field}}, {"toggle", "true"}}},
                         {"bind", "legend"}}});
  }
  Spec picked() const { return chart_.series ? picked(chart_.series->field) : Spec::array(); }

  /// A row for each value of the series, or one.
  Spec rows(bool grid) {
    spec_["height"] =
        20 + (grid ? 34.0 : 30.0) * static_cast<double>(chart_.series ? chart_.series->labels.size() : 1);
    if (!chart_.series) return {{"value", 20}};
    Spec y = ordered(*chart_.series);
    y["axis"] = {{"title", nullptr}};
    if (grid) y["axis"]["grid"] = true;
    return y;
  }

  /// A field in the unit that is shown.
  Spec scaled(const std::string& field) const {
    return calculated(fmt::format("datum.{} / {}", field, unit_.size), "shown_" + field);
  }
  Spec in_unit(const std::string& field, const std::string& title) const {
    Direction direction = marks_.x;
    direction.field = "shown_" + field;
    direction.title = fmt::format("{} ({})", title, unit_.name);
    return along(direction);
  }
  /// Along x: in a unit where it has one.
  Spec x() {
    if (marks_.x.unit.empty()) return along(marks_.x);
    spec_["transform"] = Spec::array({scaled(marks_.x.field)});
    return in_unit(marks_.x.field, marks_.x.title);
  }

  void add_ideal() {
    if (marks_.ideal.empty()) return;
    Spec values = Spec::array();
    for (const auto& [x, y] : marks_.ideal) values.push_back({{"x", x}, {"y", y}});
    spec_["layer"].push_back({{"data", {{"values", values}}},
                              {"mark", line_mark("var(--muted)")},
                              {"encoding", {{"x", quantity("x")}, {"y", quantity("y")}}}});
  }

  void lines() {
    const Spec across = x(), y = along(marks_.y);
    Spec low = y;
    low["field"] = "drawn_low";
    add_ideal();
    const auto layer = [&](Spec mark, const Spec& up, const Spec& opacity) {
      return Spec{{"mark", std::move(mark)},
                  {"encoding", {{"x", across}, {"y", up}, {"color", colour_}, {"opacity", opacity}}}};
    };
    Spec band = layer({{"type", "area"}, {"aria", false}}, low, strong(0.2));
    band["params"] = picked();
    // A single seed's band has no width, so that the axis always has an extent; a logarithmic one has no room
    // for what is not above 0.
    const char* const low_end =
        marks_.y.scale == Direction::Scale::doubling
            ? "!isValid(datum.low) ? datum.value : datum.low > 0 ? datum.low : datum.value / 16"
            : "isValid(datum.low) ? datum.low : datum.value";
    band["transform"] = {calculated(low_end, "drawn_low"),
                         calculated("isValid(datum.high) ? datum.high : datum.value", "drawn_high")};
    band["encoding"]["y2"] = {{"field", "drawn_high"}};
    // What a pointer meets.
    Spec met = layer({{"type", "point"}, {"filled", true}, {"size", marks_.points ? 55 : 90}}, y,
                     marks_.points ? strong(1) : Spec{{"value", 0}});
    if (marks_.points) met["encoding"]["shape"] = shaped();
    met["encoding"]["tooltip"] = tips_;
    spec_["layer"].push_back(band);
    spec_["layer"].push_back(layer({{"type", "line"}, {"aria", false}}, y, strong(1)));
    spec_["layer"].push_back(met);
    if (marks_.level) spec_["layer"].push_back(line_at("y", "level", *marks_.level, "var(--ink)"));
  }

  void intervals() {
    // An end that is not known is drawn where the mark is: a rule of no length, and a finite axis.
    const auto shown = [&](const std::string& field) {
      return calculated(
          fmt::format(
              "(isValid(datum.{0}) ? datum.{0} : isValid(datum.value) ? datum.value : datum.until) / {1}",
              field, unit_.size),
          "shown_" + field);
    };
    Spec y = rows(true);
    if (chart_.series) colour_["legend"] = nullptr;
    spec_["transform"] = {shown("value"), shown("low"), shown("high"), shown("until"),
                          calculated("datum.arrived + ' of ' + datum.seeds + ' arrived'", "share")};
    // Hidden rather than filtered out: an axis without any value has no extent.
    const auto point = [&](const char* field, const char* test, double size, Spec mark) {
      mark["type"] = "point";
      return Spec{{"mark", std::move(mark)},
                  {"encoding",
                   {{"x", in_unit(field, marks_.x.title)},
                    {"y", y},
                    {"size", {{"condition", {{"test", test}, {"value", size}}}, {"value", 0}}},
                    {"color", colour_},
                    {"opacity", strong(1)},
                    {"tooltip", tips_}}}};
    };
    Spec known = point("value", "isValid(datum.value)", 90, {{"filled", true}});
    known["params"] = picked();
    spec_["layer"] = {
        {{"mark", {{"type", "rule"}, {"strokeWidth", 3}}},
         {"encoding",
          {{"x", in_unit("low", marks_.x.title)},
           {"x2", {{"field", "shown_high"}}},
           {"y", y},
           {"color", colour_},
           {"opacity", strong(0.4)}}}},
        known,
        point("until", "!isValid(datum.value)", 130,
              {{"shape", "triangle-right"}, {"filled", false}, {"strokeWidth", 2}}),
        {{"transform", {{{"filter", "datum.arrived < datum.seeds"}}}},
         {"mark",
          {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"fontSize", 11}, {"color", "var(--muted)"}}},
         {"encoding", {{"x", {{"value", "width"}}}, {"y", y}, {"text", {{"field", "share"}}}}}}};
  }

  void parts() {
    Spec across = x(), y = rows(false);
    across["stack"] = "zero";
    const Spec opacity =
        chart_.series ? strong(1) : Spec{{"condition", {{"param", "picked"}, {"value", 1}}}, {"value", 0.12}};
    // A layer, since vega-lite 6.4.3 does not let legends of single charts toggle.
    spec_["layer"] = {{{"params", picked(marks_.told.field)},
                       {"mark", {{"type", "bar"}, {"height", {{"band", 0.72}}}}},
                       {"encoding",
                        {{"x", across},
                         {"y", y},
                         {"color", coloured(marks_.told)},
                         {"order", quantity("part")},
                         {"opacity", opacity},
                         {"tooltip", tips_}}}}};
  }

  void bars() {
    Spec across = along(marks_.x), y = channel(marks_.y.field, "nominal", "");
    across["scale"] = {{"domainMin", 0}};
    y["sort"] = {{"field", marks_.x.field}, {"op", "max"}, {"order", "descending"}};
    y["axis"] = {{"title", nullptr}};
    spec_["height"] = 260;
    spec_["mark"] = {{"type", "bar"}, {"height", {{"band", 0.7}}}, {"color", "var(--s1)"}};
    spec_["encoding"] = {{"x", across}, {"y", y}, {"tooltip", tips_}};
  }

  void boxes() {
    const ChartAxis& down = marks_.y.axis;
    Spec y = ordered(down), offset;
    y["axis"] = {{"title", nullptr}, {"grid", true}, {"tickBand", "extent"}};
    y["scale"] = {{"paddingInner", 0.15}};
    const bool grouped = chart_.series && chart_.series->field != down.field;
    const double boxes = grouped ? static_cast<double>(chart_.series->labels.size()) : 2;
    spec_["height"] = static_cast<double>(down.labels.size()) * (10 * boxes + 14);
    if (grouped) {
      offset = ordered(*chart_.series);
      offset["title"] = "";
    }
    spec_["transform"] = Spec::array();
    for (const char* field : {"p5", "p25", "p50", "p75", "p95", "mean"})
      spec_["transform"].push_back(scaled(field));
    const auto layer = [&](Spec mark, const std::string& from, const std::string& to, double strength) {
      Spec encoding = {
          {"x", in_unit(from, marks_.x.title)}, {"y", y}, {"color", colour_}, {"opacity", strong(strength)}};
      if (!to.empty()) encoding["x2"] = {{"field", "shown_" + to}};
      if (grouped) encoding["yOffset"] = offset;
      encoding["tooltip"] = tips_;
      return Spec{{"mark", std::move(mark)}, {"encoding", std::move(encoding)}};
    };
    Spec box = layer({{"type", "bar"}, {"height", {{"band", 0.8}}}, {"minBandSize", 2}}, "p25", "p75", 0.55);
    box["params"] = picked();
    spec_["layer"] = {layer({{"type", "rule"}, {"strokeWidth", 1.5}}, "p5", "p95", 0.9), box,
                      layer({{"type", "tick"}, {"thickness", 3}, {"band", 0.8}}, "p50", "", 1),
                      layer({{"type", "point"}, {"filled", true}, {"size", 22}}, "mean", "", 1)};
  }

  void dots() {
    Spec across = x(), y = along(marks_.y);
    const bool told = !marks_.told.field.empty();
    if (!marks_.ideal.empty())  // values that span orders of magnitude, around the line
      across["scale"]["domain"] =
          y["scale"]["domain"] = {marks_.ideal.front().first * 0.8, marks_.ideal.back().first * 1.25};
    add_ideal();
    if (!marks_.joined.empty()) {
      Spec mark = line_mark("var(--muted)");
      mark["interpolate"] = "step-after";
      mark["aria"] = false;
      spec_["layer"].push_back(
          {{"transform", {{{"filter", fmt::format("datum.{} === 'yes'", marks_.joined)}}}},
           {"mark", mark},
           {"encoding", {{"x", across}, {"y", y}}}});
    }
    Spec encoding = {{"x", across}, {"y", y}};
    if (told) {
      Spec by = channel(marks_.told.field, "nominal", marks_.told.name);
      for (const auto& [what, range] :
           {std::pair{"color", Spec{"var(--s1)", "var(--s2)"}}, {"shape", Spec{"circle", "cross"}}}) {
        by["scale"] = {{"domain", marks_.told.labels}, {"range", range}};
        encoding[what] = by;
      }
      encoding["opacity"] = {{"condition", {{"param", "picked"}, {"value", 0.9}}}, {"value", 0.12}};
    } else {
      encoding["color"] = colour_;
      encoding["shape"] = shaped();
      encoding["opacity"] = strong(1);
    }
    encoding["tooltip"] = tips_;
    Spec layer = {{"params", told ? picked(marks_.told.field) : picked()},
                  {"mark", {{"type", "point"}, {"filled", true}, {"size", 80}}},
                  {"encoding", encoding}};
    if (marks_.x.scale == Direction::Scale::tenfold)
      layer["transform"] = Spec::array(
          {{{"filter", fmt::format("datum.{} > 0 && datum.{} > 0", marks_.x.field, marks_.y.field)}}});
    spec_["layer"].push_back(layer);
    if (!marks_.ideal.empty()) spec_["height"] = 340;
  }

  void ratios() {
    Spec across = along(marks_.x), y = ordered(marks_.y.axis);
    across["scale"] = {
        {"type", "log"}, {"domain", {marks_.x.ticks.front(), marks_.x.ticks.back()}}, {"nice", false}};
    across["axis"]["format"] = ".3~g";
    y["axis"] = {{"title", nullptr}, {"labelLimit", 560}};
    spec_["height"] = 17 * std::max<std::size_t>(4, marks_.y.axis.labels.size());
    spec_["layer"] = {
        line_at("x", "one", 1, "var(--muted)"),
        {{"params", picked(marks_.told.field)},
         {"mark", {{"type", "point"}, {"filled", true}, {"size", 28}}},
         {"encoding",
          {{"x", across},
           {"y", y},
           {"color", coloured(marks_.told)},
           {"opacity", {{"condition", {{"param", "picked"}, {"value", 0.55}}}, {"value", 0.06}}},
           {"tooltip", tips_}}}}};
  }

  // Diagonals of a place, in units of half a square's side, cut at its edges.
  static std::string hatch(double half_width, double half_height) {
    std::string path;
    const double step = 0.36, reach = half_width + half_height;
    for (int line = 1; line * step < 2 * reach; ++line) {
      const double c = line * step - reach;
      const double from = std::max(-half_width, c - half_height), to = std::min(half_width, c + half_height);
      path += fmt::format("M{:.3f},{:.3f}L{:.3f},{:.3f}", from, c - from, to, c - to);
    }
    return path;
  }

  void places() {
    const auto place = [&](const ChartAxis& axis) {
      Spec made = ordered(axis, "ordinal");
      made["scale"] = {{"paddingInner", 0.04}, {"paddingOuter", 0}};
      return made;
    };
    Spec across = place(marks_.x.axis);
    across["axis"] = {
        {"labelAngle", 0}, {"labelLimit", kPlaceWidth - 6}, {"domain", false}, {"ticks", false}};
    const Spec y = place(marks_.y.axis), opacity = strong(1);
    spec_.erase("autosize");
    spec_["width"] = {{"step", kPlaceWidth}};
    spec_["height"] = {{"step", kPlaceHeight}};
    spec_["layer"] = {
        {{"params", picked()},
         {"mark", {{"type", "rect"}, {"cornerRadius", 3}}},
         {"encoding",
          {{"x", across}, {"y", y}, {"color", colour_}, {"opacity", opacity}, {"tooltip", tips_}}}},
        {{"transform", {{{"filter", "datum.tied !== '' || datum.undecided !== ''"}}}},
         {"mark",
          {{"type", "point"},
           {"shape", hatch(kPlaceWidth * 0.96 / kPlaceHeight, 0.96)},
           {"filled", false},
           {"stroke", "var(--paper)"},
           {"strokeWidth", 1.4},
           {"size", kPlaceHeight * kPlaceHeight}}},
         {"encoding", {{"x", across}, {"y", y}, {"opacity", opacity}}}},
        {{"mark",
          {{"type", "text"},
           {"fontSize", 11},
           {"fontWeight", 600},
           {"lineBreak", "\n"},
           {"dy", -6},
           {"limit", kPlaceWidth - 8},
           {"color", "var(--paper)"},
           {"stroke", nullptr}}},
         // By name too: beyond eight colours come again.
         {"transform",
          {{{"filter", "datum.tied === '' && datum.undecided === ''"}},
           calculated(fmt::format("datum['{}'] + '\\n' + format(datum.value, '.3~s')", chart_.series->field),
                      "said")}},
         {"encoding", {{"x", across}, {"y", y}, {"text", {{"field", "said"}, {"type", "nominal"}}}}}}};
  }

  const Chart& chart_;
  const Marks& marks_;
  CommonUnit unit_;
  Spec tips_, colour_, spec_;
};

}  // namespace

Spec vega(const Chart& chart) { return Drawing(chart).drawn(); }

}  // namespace simsgd::faces
