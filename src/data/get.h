// Fetches a published data set into the folder where data sets live: downloaded aside, checked, unpacked aside, then
// given its name. Stopped at any moment, nothing half-made bears that name, and the next attempt goes on.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/fetch.h"

namespace thimble {

struct DatasetSource {
  std::string name;
  std::string base_url;           // of its files
  std::vector<RemoteFile> files;  // one .tar.gz, whose only folder is `folder`; or files that are kept as they are
  std::string folder;             // below the root, to be made
};

const DatasetSource& find_source(std::string_view name);  // UserError lists those there are

struct GetOptions {
  std::string data_root;      // made if it is not there
  std::string base_url = {};  // instead of the source's own; sizes and sums must be the same
  FetchOptions fetch = {};
  std::function<void(const std::string& news)> tell = [](const std::string&) {};
};

// The folder that now holds it. One that is there already is left as it is.
std::string get_dataset(const DatasetSource& source, const GetOptions& options);

}  // namespace thimble
