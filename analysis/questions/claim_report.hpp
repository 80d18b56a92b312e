// Verdicts of claims for people and programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/questions/claim_verdict.hpp"

namespace simsgd {

/// "reproduced", "depends on coupling".
std::string verdict_text(const ClaimVerdict& verdict);
/// "reproduced 18 of 24, reversed 6 of 24".
std::string counts_text(const StateCounts& counts);

std::string claims_text(const std::vector<ClaimVerdict>& verdicts);
/// A page: `command` made it. Links to studies are relative to docs/.
std::string claims_markdown(const std::vector<ClaimVerdict>& verdicts, const std::string& command);
nlohmann::ordered_json claims_json(const std::vector<ClaimVerdict>& verdicts);

}  // namespace simsgd
