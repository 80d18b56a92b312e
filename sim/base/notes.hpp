// What a result leaves out, takes from an assumption, or does not use of its scenario: sentences that are
// kept with the job, written to the document and shown below the summary. A note is not an error: the run
// goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simsgd {

struct Note {
  std::string about;  ///< short key, in kebab case, such as "unknown-cost": for tests and filters
  std::string text;   ///< a clause that needs no other, without full stop: what people read

  friend bool operator==(const Note&, const Note&) = default;
};

/// Once each, however often something is said.
inline void add_note(std::vector<Note>& notes, Note note) {
  for (const Note& each : notes)
    if (each == note) return;
  notes.push_back(std::move(note));
}

}  // namespace simsgd
