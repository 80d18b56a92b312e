// The version of what SimSGD computes, as part of the key of every stored run.
#pragma once

namespace simsgd {

/// Raised in the commit after which the same scenario may give other numbers: stored results of older
/// versions are then run again instead of being taken for new ones.
inline constexpr int kModelVersion = 3;

}  // namespace simsgd
