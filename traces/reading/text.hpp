// Words, numbers and units of a line of text, read without a copy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace simsgd {

/// Blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);
bool is_digit(char c);
/// ASCII alone.
std::string small_letters(std::string_view text);
bool holds(std::string_view text, std::string_view part);
/// The first character of a file that is not a blank; 0 where there is none.
char first_character(std::string_view head);
/// Replaces `words` by what stands between blanks and tabs.
void split_words(std::string_view line, std::vector<std::string_view>& words);
/// All of `text`, a finite number in decimal notation; false otherwise, and where it does not fit a double.
bool read_number(std::string_view text, double& value);
/// The same, a whole number from `least` to 2^31 - 1.
bool read_count(std::string_view text, int least, int& value);
/// All of `text`: a number, or several as "[a; b]" or with another separator; replaces `values`. False
/// otherwise.
bool read_list(std::string_view text, std::vector<double>& values, char separator = ';');
/// The number that follows `after` in `text` (blanks between); false where there is none.
bool number_after(std::string_view text, std::string_view after, double& value);
/// The word that follows `after` and blanks; empty where there is none.
std::string_view word_after(std::string_view text, std::string_view after);

/// A line of a program that ran in several processes, without what names the process: mpirun's
/// "[1,0]<stdout>:", srun's "0: ".
std::string_view without_process(std::string_view line);

/// How many SI units one `unit` is ("us": 1e-6), also "1" and "%" (0.01) of a plain number and "1/s",
/// "samples/s" and so on of a rate without a unit in sim/base/units; false where it is not a unit of the
/// dimension.
bool unit_scale(std::string_view unit, Dimension dimension, double& scale);

/// `value` units of that scale in SI, rounded once: 332.4 us are 0.0003324 s, and not a bit less.
double in_si(double value, double scale);

}  // namespace simsgd
