// Style and script of the part of the page that starts simulations, compiled in from web/.
#pragma once

#include <string>

namespace simsgd::live {

std::string live_css();
std::string live_js();

}  // namespace simsgd::live
