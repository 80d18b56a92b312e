/* MPI_Allreduces, one after another, run by smpirun: tests/smpi/oracle.cpp. Arguments in pairs: how many
 * floats, and by how many microseconds at most ranks begin late. Prints of each call and rank: call, rank,
 * begin, end, in seconds of simulated time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int call = 0; 2 * call + 2 < argc; ++call) {
    const int count = atoi(argv[2 * call + 1]), skew_us = atoi(argv[2 * call + 2]);
    float* input = SMPI_SHARED_MALLOC((size_t)count * sizeof(float));
    float* output = SMPI_SHARED_MALLOC((size_t)count * sizeof(float));
    MPI_Barrier(MPI_COMM_WORLD);
    if (skew_us > 0) usleep((useconds_t)(rank * 7919 % (skew_us + 1)));
    const double begin = MPI_Wtime();
    MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    printf("%d %d %.17g %.17g\n", call, rank, begin, end);
    SMPI_SHARED_FREE(input);
    SMPI_SHARED_FREE(output);
  }
  MPI_Finalize();
  return 0;
}
