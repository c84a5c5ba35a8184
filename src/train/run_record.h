// What a run was asked to do, resolved, as a flat JSON object: run.json beside the checkpoints, for whoever evaluates
// or reports the run later, and a part of every checkpoint, for whoever continues it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/json_text.h"
#include "train/flat_json.h"
#include "train/train.h"

namespace thimble {

struct RunRecord {
  TrainOptions options;  // model, data and budget resolved; folders and files are not recorded
  std::string data;      // name of the data set
  std::int64_t microbatch = 0;
  std::string build;
};

RunRecord record_of(const TrainOptions& options, const DatasetInfo& data, std::int64_t microbatch);

void write_record(const RunRecord& record, JsonObject& object);
RunRecord read_record(const FlatJson& json);  // UserError names what is missing or makes no sense

inline constexpr std::string_view kRunFile = "run.json";
void publish_run(const RunRecord& record, const std::string& folder);
RunRecord read_run(const std::string& folder);  // UserError if the folder holds no run

struct Difference {
  std::string name;
  std::string was, is;  // as in the file
};

struct Differences {
  std::vector<Difference> forbidden;  // the state would mean something else
  std::vector<Difference> noted;      // the run can go on, but not to the bits of an uninterrupted one
};

// Budget, recomputation and allowed levers never change a result and are not compared.
Differences compare(const RunRecord& saved, const RunRecord& asked);

std::string to_text(const std::vector<Difference>& differences);  // "batch was 8, is 16; seed was 0, is 1"

}  // namespace thimble
