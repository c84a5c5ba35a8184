#include "measure/cost_cache.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "formats/publish.h"
#include "measure/machine.h"

namespace thimble {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

CostFile read_costs(const std::string& path, const CostOrigin& origin) {
  const File file = open_own_to_read(path);
  CostFile costs = parse_costs(file_source(file));
  const CostOrigin& found = costs.origin;
  require(found == origin, path, ": was measured on '", found.cpu, "' with ", found.isa, " by version ", found.program,
          ", wanted '", origin.cpu, "', ", origin.isa, " and ", origin.program);
  return costs;
}

}  // namespace

CostOrigin origin_here(Isa isa, std::string program_version) {
  return {cpu_name(), std::string(name_of(isa)), std::move(program_version)};
}

std::string cost_file_name(const CostOrigin& origin) {
  const std::string text = join_text(origin.cpu, "\n", origin.isa, "\n", origin.program);
  return join_text("costs-", hexadecimal(hash_text(text.data(), text.size())), ".json");
}

FoundCosts find_costs(const std::string& path, const CostOrigin& origin) {
  if (::access(path.c_str(), F_OK) != 0) return {};
  try {
    return {read_costs(path, origin), ""};
  } catch (const UserError& error) {
    return {std::nullopt, error.what()};
  }
}

CostFile with_figures(CostFile file, const BenchFigures& figures, int threads) {
  using Key = std::pair<std::int64_t, std::string>;
  std::map<Key, CostEntry> entries;
  for (const BenchRow& row : figures.kernels) {
    if (row.use.empty() || row.call_seconds <= 0 || entries.size() == kMostCosts) continue;
    const auto calls = static_cast<double>(row.calls);
    entries[{threads, row.use}] = {threads, row.use, row.call_seconds, row.flops / calls, row.bytes / calls};
  }
  for (CostEntry& entry : file.entries) {
    if (entries.size() == kMostCosts) break;
    entries.try_emplace({entry.threads, entry.use}, entry);
  }
  file.entries.clear();
  for (auto& [key, entry] : entries) file.entries.push_back(std::move(entry));
  return file;
}

void publish_costs(const std::string& path, const CostFile& file) {
  make_folders(folder_of(path));
  Publication publication(path);
  publication.append(bytes_of_text(to_text(file)));
  publication.publish();
}

std::shared_ptr<const CostTable> cost_table(const CostFile& file, int threads) {
  std::vector<MeasuredCost> costs;
  for (const CostEntry& entry : file.entries) {
    if (entry.threads == threads) costs.push_back({entry.use, entry.seconds, entry.flops, entry.bytes});
  }
  return costs.empty() ? nullptr : std::make_shared<const CostTable>(costs);
}

}  // namespace thimble
