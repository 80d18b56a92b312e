// Large headers of others that most files include: parsed once. Nothing of ours, so that no file depends on it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <Eigen/Dense>
#include <nlohmann/json.hpp>
