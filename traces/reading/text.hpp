// Words and numbers of a line of text, read without a copy.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace simsgd {

/// Blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);
bool is_digit(char c);
/// Replaces `words` by what stands between blanks and tabs.
void split_words(std::string_view line, std::vector<std::string_view>& words);
/// All of `text`, a finite number in decimal notation; false otherwise, and where it does not fit a double.
bool read_number(std::string_view text, double& value);
/// The same, a whole number from `least` to 2^31 - 1.
bool read_count(std::string_view text, int least, int& value);
/// All of `text`: a number, or several as "[a; b]"; replaces `values`. False otherwise.
bool read_list(std::string_view text, std::vector<double>& values);
/// The number that follows `after` in `text` (blanks between); false where there is none.
bool number_after(std::string_view text, std::string_view after, double& value);
/// The word that follows `after` and blanks; empty where there is none.
std::string_view word_after(std::string_view text, std::string_view after);

/// A line of a program that ran in several processes, without what names the process: mpirun's
/// "[1,0]<stdout>:", srun's "0: ".
std::string_view without_process(std::string_view line);

}  // namespace simsgd
