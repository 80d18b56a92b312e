// Torus: a grid of rows x columns whose sides are joined; every worker averages with the four around it.
//   Laplacian eigenvalues: every sum of one of a cycle of `rows` and one of a cycle of `columns`.
#include <cmath>

#include "topologies/graphs/graph.hpp"

namespace simsgd {

namespace {

/// The divisor of n nearest to its square root, from below.
int most_square(int n) {
  int rows = static_cast<int>(std::sqrt(static_cast<double>(n)));
  while (rows > 1 && n % rows != 0) --rows;
  return rows;
}

int rows_of(const GraphRequest& request) {
  const int n = request.workers;
  if (!request.parameters.has("rows")) {
    const int rows = most_square(n);
    if (rows < 2)
      Parameters::reject("name", "cannot have two rows of several of " + std::to_string(n) + " workers",
                         "Use a number of workers that is no prime, or the graph ring");
    return rows;
  }
  const std::int64_t rows = request.parameters.integer("rows");
  if (rows < 2 || n % rows != 0 || n / rows < 2)
    Parameters::reject("rows", "does not divide " + std::to_string(n) + " workers into rows of at least two",
                       most_square(n) < 2
                           ? "Use a number of workers that is no prime, or the graph ring"
                           : "Leave it out for " + std::to_string(most_square(n)) + ", the most square");
  return static_cast<int>(rows);
}

GraphShape make_torus(const GraphRequest& request) {
  const int rows = rows_of(request), columns = request.workers / rows;
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

GraphPlugin torus_graph() {
  PluginInfo info;
  info.name = "torus";
  info.summary = "a grid whose sides are joined: every worker with the four around it";
  info.properties = {
      {"rows",
       {{"type", "integer"},
        {"minimum", 2},
        {"description", "rows of the grid, a divisor of the workers; by default the most square grid"}}}};
  return {info, make_torus};
}

}  // namespace simsgd
