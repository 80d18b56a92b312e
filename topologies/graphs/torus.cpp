// Torus: a grid of rows x columns whose sides are joined; every worker averages with the four around it.
//   Laplacian eigenvalues: every sum of one of a cycle of `rows` and one of a cycle of `columns`.
#include <cmath>
#include <optional>

#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

/// The divisor of n nearest to its square root, from below.
int most_square(int n) {
  int rows = static_cast<int>(std::sqrt(static_cast<double>(n)));
  while (rows > 1 && n % rows != 0) --rows;
  return rows;
}

struct TorusOptions {
  std::optional<int> rows;

  void fields(Fields& f) {
    f.whole("rows", rows, "Rows of the grid; they divide the number of workers")
        .at_least(2)
        .by_rule("the most square grid");
  }
  void complete(const GraphRequest& request) {
    if (const int most = most_square(request.workers); !rows && most >= 2) rows = most;
  }
};

int rows_of(const TorusOptions& options, int workers) {
  if (!options.rows)
    reject("name", "has no grid of 2 x 2 or more for " + std::to_string(workers) + " workers",
           "Use a number of workers that is not a prime, or the graph ring");
  const int rows = *options.rows;
  if (workers % rows != 0 || workers / rows < 2)
    reject("rows", "does not divide " + std::to_string(workers) + " workers into rows of at least two",
           most_square(workers) < 2
               ? "Use a number of workers that is not a prime, or the graph ring"
               : "Leave it out for " + std::to_string(most_square(workers)) + ", the most square");
  return rows;
}

GraphShape make_torus(const TorusOptions& options, const GraphRequest& request) {
  const int rows = rows_of(options, request.workers), columns = request.workers / rows;
  const auto at = [rows, columns](int row, int column) { return row % rows * columns + column % columns; };
  GraphShape shape;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      shape.edges.emplace_back(at(row, column), at(row, column + 1));
      shape.edges.emplace_back(at(row, column), at(row + 1, column));
    }
  }
  for (const double a : cycle_eigenvalues(rows))
    for (const double b : cycle_eigenvalues(columns)) shape.laplacian_eigenvalues.push_back(a + b);
  return shape;
}

}  // namespace

std::vector<GraphPlugin> torus() {
  return {{{.name = "torus",
            .summary = "a grid whose sides are joined: every worker with the four around it",
            .citation = ""},
           make_torus}};
}

}  // namespace simsgd::graphs
