// What a rank says when the launcher ends it because another rank has died. mpirun notices that a process of
// its own is gone, and sends SIGTERM to the others on the machine before it kills them: the first of these
// to have looked who is gone says it.
#pragma once

#include <mpi.h>

namespace simsgd {

/// Collective, once for each process. From then on SIGTERM ends this process with a sentence.
void leave_last_words(MPI_Comm world);
/// This rank is about to say why the run ends, and those that are ended for it have nothing to add. False
/// where another rank of this machine was first.
bool this_rank_speaks();
/// The results are there: from now on dying is not news.
void no_last_words();

}  // namespace simsgd
