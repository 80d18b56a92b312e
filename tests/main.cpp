#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "sim/learn/numerics.hpp"

int main(int argc, char** argv) {
  simsgd::keep_freed_memory();  // as the program does
  return doctest::Context(argc, argv).run();
}
