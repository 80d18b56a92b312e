// Style and script of the page, and of its part that starts simulations, compiled in from web/.
#pragma once

#include <string>

namespace simsgd::faces {

std::string page_css();
std::string page_js();
std::string live_css();
std::string live_js();

}  // namespace simsgd::faces
