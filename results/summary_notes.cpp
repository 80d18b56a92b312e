// The notes of several runs: each once, also where the runs differ in its percentages alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "results/summary_view.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostTitles = 3;  // of runs behind a note

// A text cut at its percentages: "late by 13 %: evaluate" is "late by ", "13", " %: evaluate".
struct CutNote {
  std::vector<std::string> words, shares;
};

CutNote cut(const std::string& text) {
  constexpr const char* kDigits = "0123456789.";
  CutNote note;
  std::size_t begin = 0;
  for (std::size_t end = text.find(" %"); end != std::string::npos; end = text.find(" %", end + 1)) {
    const std::size_t before = end == 0 ? 0 : text.find_last_not_of(kDigits, end - 1) + 1;
    if (before >= end || before < begin) continue;
    note.words.push_back(text.substr(begin, before - begin));
    note.shares.push_back(text.substr(before, end - before));
    begin = end;
  }
  note.words.push_back(text.substr(begin));
  return note;
}

struct SharedNote {
  std::vector<std::string> words;
  std::vector<std::vector<std::string>> shares;  // at each place, of every run
  std::vector<std::size_t> runs{};

  std::string text() const {
    const auto less = [](const std::string& a, const std::string& b) {
      return std::atof(a.c_str()) < std::atof(b.c_str());
    };
    std::string all = words.front();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const auto [least, most] = std::minmax_element(shares[i].begin(), shares[i].end(), less);
      all += (*least == *most ? *least : *least + " to " + *most) + words[i + 1];
    }
    return all;
  }
};

std::vector<SharedNote> shared_notes(const std::vector<RunView>& runs) {
  std::vector<SharedNote> notes;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const std::string& text : runs[run].notes()) {
      CutNote note = cut(text);
      auto found = std::find_if(notes.begin(), notes.end(),
                                [&note](const SharedNote& each) { return each.words == note.words; });
      if (found == notes.end()) {
        notes.push_back({std::move(note.words), {}});
        found = notes.end() - 1;
        found->shares.resize(note.shares.size());
      }
      for (std::size_t i = 0; i < note.shares.size(); ++i) found->shares[i].push_back(note.shares[i]);
      if (found->runs.empty() || found->runs.back() != run) found->runs.push_back(run);
    }
  }
  return notes;
}

}  // namespace

std::string notes_block(const std::vector<SummaryColumn>& columns, const std::vector<RunView>& runs) {
  const auto complete = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const RunView& run) { return !run.failed(); }));
  const std::vector<SharedNote> notes = shared_notes(runs);
  std::string block = notes.empty() ? "" : "\nNotes\n";
  for (const SharedNote& note : notes) {
    std::vector<std::string> titles;
    for (const std::size_t run : note.runs) titles.push_back(columns[run].title);
    block += "- " + note.text();
    if (titles.size() > kMostTitles && titles.size() < complete)
      block += fmt::format(" ({} of {} runs)", titles.size(), complete);
    else if (titles.size() < complete)
      block += fmt::format(" ({})", fmt::join(titles, "; "));
    block += "\n";
  }
  return block;
}

}  // namespace simsgd
