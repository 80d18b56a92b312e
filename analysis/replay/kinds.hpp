// What the kinds of operations of a recorded job mean: who takes part, and what waits for them.
#pragma once

#include <string>
#include <string_view>

namespace simsgd::replay {

enum class Role {
  forward,    ///< of a micro-batch, through one stage
  backward,   ///< the same, back
  send,       ///< to a neighbouring stage
  receive,    ///< from a neighbouring stage
  gather,     ///< a collective that forward passes wait for
  reduce,     ///< a collective that waits for backward passes, and the optimizer for it
  computing,  ///< anything else on a worker alone
  piece,      ///< computing that waits for a collective only where its lane stood idle until that ended
};

/// Who takes part in an operation together.
enum class Scope { worker, neighbour, replicas, slices, ends, all };

struct Kind {
  Role role = Role::computing;
  Scope scope = Scope::worker;
  bool backward = false;       ///< of messages: on the way back
  bool known = true;           ///< listed; others are told by the name of their lane
  bool communication = false;  ///< what is equalised to its median, and what a faster network shortens
};

/// `lane`: on which it stands, for kinds that are not listed.
Kind kind_of(std::string_view name, std::string_view lane);

}  // namespace simsgd::replay
