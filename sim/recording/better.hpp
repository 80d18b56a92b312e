// Which way a metric is better.
#pragma once

namespace simsgd {

enum class Better { neither, less, more };

}  // namespace simsgd
