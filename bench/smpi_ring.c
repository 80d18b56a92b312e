/* A ring all-reduce of so many bytes, message by message, for SMPI: what bench/peers.py compares with. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int block = atoi(arguments[1]) / ranks;
  char* out = malloc(block);
  char* in = malloc(block);
  for (int step = 0; step < 2 * (ranks - 1); ++step)
    MPI_Sendrecv(out, block, MPI_BYTE, (rank + 1) % ranks, 0, in, block, MPI_BYTE, (rank + ranks - 1) % ranks,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%.9f\n", MPI_Wtime());
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
