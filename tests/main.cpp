#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "sim/learn/numerics.hpp"

int main(int argc, char** argv) {
  simsgd::fix_numerics();  // as the program does
  simsgd::keep_freed_memory();
  return doctest::Context(argc, argv).run();
}
