#include "results/run_summary.hpp"

#include <nlohmann/json.hpp>

#include "results/summary.hpp"
#include "results/summary_tables.hpp"

namespace simsgd {

std::string title_of(const nlohmann::ordered_json& document, const std::string& file) {
  const nlohmann::ordered_json& name = document.at("scenario").at("name");
  return name.is_string() ? name.get<std::string>() : file;
}

std::string run_summary(const nlohmann::ordered_json& document, const std::string& title,
                        const RunFiles& files) {
  return summary_table({{title, &document}}) + decided_tables(document) +
         (files.document.empty() ? "" : files_text(files));
}

}  // namespace simsgd
