/* One MPI_Allreduce of argv[1] floats, run by smpirun: tests/smpi/oracle.cpp. Rank r begins up to argv[2]
 * microseconds late. Prints for each rank: rank, begin, end, in seconds of simulated time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 0;
  const int skew_us = argc > 2 ? atoi(argv[2]) : 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float* input = SMPI_SHARED_MALLOC((size_t)count * sizeof(float));
  float* output = SMPI_SHARED_MALLOC((size_t)count * sizeof(float));
  MPI_Barrier(MPI_COMM_WORLD);
  if (skew_us > 0) usleep((useconds_t)(rank * 7919 % (skew_us + 1)));
  const double begin = MPI_Wtime();
  MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double end = MPI_Wtime();
  printf("%d %.17g %.17g\n", rank, begin, end);
  SMPI_SHARED_FREE(input);
  SMPI_SHARED_FREE(output);
  MPI_Finalize();
  return 0;
}
