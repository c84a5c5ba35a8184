// From the words of the command line to what the compiler and the training loop are asked for.
#pragma once

#include <memory>

#include "cli/arguments.h"
#include "compile/compile.h"
#include "data/dataset.h"
#include "train/train.h"

namespace thimble::cli {

// Null if no --data was given.
std::unique_ptr<Dataset> open_data(const Arguments& arguments);
std::string data_root();  // THIMBLE_DATA; empty if it is not set

CompileRequest make_request(const Arguments& arguments, const Dataset* dataset);
std::string spill_folder(const Arguments& arguments, const CompileRequest& request);  // may be empty without offload
TrainOptions make_train_options(const Arguments& arguments, const Dataset& dataset);

bool follows_limits(const Arguments& arguments);  // --memory auto

// The budget for `text`: an amount, a share of `limit`, or all of it.
Bytes budget_from(const std::string& text, Bytes limit, std::string_view where);

}  // namespace thimble::cli
