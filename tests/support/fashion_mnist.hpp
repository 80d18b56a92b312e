// Tests that learn on real images need a data set that not every machine has.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>

namespace simsgd::test {

/// Says that the test is skipped where it is true.
inline bool fashion_mnist_is_missing() {
  if (std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) return false;
  MESSAGE("SKIPPED: Fashion-MNIST is not installed (Debian package dataset-fashion-mnist)");
  return true;
}

}  // namespace simsgd::test
