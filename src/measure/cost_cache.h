// Costs kept for a machine: which file they are in, how new ones join it, and the table that the search takes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analysis/cost_table.h"
#include "base/isa.h"
#include "formats/cost_file.h"
#include "measure/bench_figures.h"

namespace thimble {

CostOrigin origin_here(Isa isa, std::string program_version);

std::string cost_file_name(const CostOrigin& origin);  // "costs-0123456789abcdef.json"

// A damaged file, or one of another machine, is no reason to stop who measures anew: what is wrong is a value.
struct FoundCosts {
  std::optional<CostFile> file;
  std::string fault;  // empty without a file: there is none
};
FoundCosts find_costs(const std::string& path, const CostOrigin& origin);

// The file with these figures in it; what it knew of other uses and other numbers of threads stays, as far as there is
// room.
CostFile with_figures(CostFile file, const BenchFigures& figures, int threads);

void publish_costs(const std::string& path, const CostFile& file);  // makes folders as needed

// Null if nothing was measured with so many threads.
std::shared_ptr<const CostTable> cost_table(const CostFile& file, int threads);

}  // namespace thimble
