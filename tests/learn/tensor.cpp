// The numeric plane: the executor and its elementary operations.
#include "sim/learn/tensor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

namespace simsgd::test::learn_values {

namespace {

Tensor vector_of(Executor& executor, std::vector<float> values) {
  TensorData tensor;
  tensor.values = std::move(values);
  return executor.constant(std::move(tensor));
}

// A graph of 300 operations on 8 vectors, each of which depends on two earlier ones; rounding shows any
// change of order.
std::vector<float> tangled(int threads) {
  Executor executor(threads);
  std::vector<Tensor> made;
  for (int i = 0; i < 8; ++i) {
    std::vector<float> start(100);
    for (std::size_t j = 0; j < start.size(); ++j)
      start[j] = std::sin(static_cast<float>(i * 100) + static_cast<float>(j));
    made.push_back(vector_of(executor, std::move(start)));
  }
  for (std::size_t i = 8; i < 308; ++i) {
    const Tensor &a = made[(i * 7) % i], &b = made[(i * 13 + 5) % i];
    made.push_back(i % 3 == 0
                       ? linear_combination(executor, {0.3, 0.7}, {a, b})
                       : executor.submit({a, b}, [](TensorData& out, auto in) {
                           for (std::size_t j = 0; j < in[0]->values.size(); ++j)
                             out.values.push_back(std::cos(in[0]->values[j]) - 0.9f * in[1]->values[j]);
                         }));
  }
  std::vector<float> all;
  for (std::size_t i = 200; i < made.size(); ++i) {
    const std::vector<float>& values = executor.get(made[i]).values;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

TEST_CASE("results are the same, bit for bit, for 1, 2 and 4 threads") {
  const std::vector<float> one = tangled(1);
  CHECK(one == tangled(2));
  CHECK(one == tangled(4));
}

TEST_CASE("a linear combination adds its terms up in order and scales the sum") {
  // 0.5 (2 (1, 2) + 3 (10, 20)) = (16, 32).
  Executor executor(1);
  const Tensor a = vector_of(executor, {1, 2}), b = vector_of(executor, {10, 20});
  CHECK(executor.get(linear_combination(executor, {2, 3}, {a, b}, 0.5)).values == std::vector<float>{16, 32});
}

TEST_CASE("a linear combination of long vectors is that of its entries, also at the seams of its blocks") {
  Executor executor(1);
  std::vector<float> ones(5000, 1), counting(5000);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<float>(i);
  const Tensor sum =
      linear_combination(executor, {1, 1}, {vector_of(executor, ones), vector_of(executor, counting)});
  const std::vector<float>& found = executor.get(sum).values;
  REQUIRE(found.size() == 5000);
  for (const std::size_t i : std::vector<std::size_t>{0, 2047, 2048, 4095, 4096, 4999})
    CHECK(found[i] == static_cast<float>(i + 1));
}

TEST_CASE("a slice takes entries from begin up to end, and slices concatenate to the whole") {
  Executor executor(1);
  const Tensor whole = vector_of(executor, {0, 1, 2, 3, 4});
  const Tensor left = slice(executor, whole, 0, 2), right = slice(executor, whole, 2, 5);
  CHECK(executor.get(left).values == std::vector<float>{0, 1});
  CHECK(executor.get(concatenate(executor, {left, right})).values == std::vector<float>{0, 1, 2, 3, 4});
}

TEST_CASE("operations on empty handles are empty") {
  Executor executor(1);
  CHECK(!linear_combination(executor, {1, 1}, {Tensor(), Tensor()}));
  CHECK(!slice(executor, {}, 0, 2));
  CHECK(!concatenate(executor, {Tensor(), Tensor()}));
  CHECK(Tensor().id() == 0);
}

TEST_CASE("an operation shared by name, parameters and inputs is computed once") {
  Executor executor(1);
  std::atomic<int> computed = 0;
  const Kernel count = [&computed](TensorData& out, auto) { out.values = {static_cast<float>(++computed)}; };
  const Tensor input = vector_of(executor, {1}), twin = vector_of(executor, {1});
  const Tensor first = executor.submit_shared("f", {0.5}, {input}, count);
  const Tensor same = executor.submit_shared("f", {0.5}, {input}, count);
  CHECK(first.id() == same.id());
  executor.get(first);
  executor.get(same);
  CHECK(computed == 1);
  CHECK(executor.submit_shared("f", {0.25}, {input}, count).id() != first.id());
  CHECK(executor.submit_shared("g", {0.5}, {input}, count).id() != first.id());
  CHECK(executor.submit_shared("f", {0.5}, {twin}, count).id() != first.id());  // equal, but another tensor
}

TEST_CASE("a shared operation that everybody dropped is computed anew") {
  Executor executor(1);
  const Tensor input = vector_of(executor, {1});
  const Kernel kernel = [](TensorData& out, auto in) { out.values = {in[0]->values[0] + 1}; };
  executor.submit_shared("f", {}, {input}, kernel);  // dropped at once
  executor.get(executor.submit({input}, kernel));    // whose turn comes after it
  CHECK(executor.get(executor.submit_shared("f", {}, {input}, kernel)).values == std::vector<float>{2});
}

TEST_CASE("what nobody holds is never computed") {
  Executor executor(1);
  std::atomic<int> computed = 0;
  const Kernel count = [&computed](TensorData& out, auto) { out.values = {static_cast<float>(++computed)}; };
  executor.submit({}, count);
  {
    const Tensor cancelled = executor.submit({}, count);
    const Tensor dependent = executor.submit({cancelled}, count);
  }
  const Tensor kept = executor.submit({}, count);
  CHECK(!executor.ready(kept));
  executor.get(kept);
  CHECK(executor.ready(kept));
  CHECK(computed == 1);
}

TEST_CASE("what a kept tensor depends on is computed, though nobody else holds it") {
  Executor executor(1);
  Tensor result = vector_of(executor, {1});
  for (int i = 0; i < 10; ++i)
    result = executor.submit({result}, [](TensorData& out, auto in) { out.values = {2 * in[0]->values[0]}; });
  CHECK(executor.get(result).values == std::vector<float>{1024});
}

TEST_CASE("an exception in a kernel comes out of every get that depends on it") {
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    Executor executor(threads);
    const Tensor broken =
        executor.submit({}, [](TensorData&, auto) { throw std::runtime_error("the reason"); });
    const Tensor dependent = executor.submit({broken}, [](TensorData&, auto) {});
    CHECK_THROWS_WITH_AS(executor.get(dependent), "the reason", std::runtime_error);
    CHECK_THROWS_WITH_AS(executor.get(broken), "the reason", std::runtime_error);
  }
}

}  // namespace simsgd::test::learn_values
