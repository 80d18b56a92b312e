// Style and script of the page, compiled in from web/.
#pragma once

#include <string>

namespace simsgd::report {

std::string page_css();
std::string page_js();

}  // namespace simsgd::report
