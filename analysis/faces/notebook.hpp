// What a notebook shows of a report.
#pragma once

#include <string>

#include "analysis/faces/figures.hpp"

namespace simsgd::faces {

/// All of a report's charts, one below another, as Jupyter's MIME bundle (JSON): Vega-Lite, and for who does
/// not draw that a picture: PNG, without rsvg-convert SVG, without Node the charts' tables.
std::string notebook_bundle(const Report& report, const FigureSettings& settings);

}  // namespace simsgd::faces
