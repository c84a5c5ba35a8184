// What data sets there are, and how to get those that are published.
#include <unistd.h>

#include "base/error.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "data/get.h"
#include "data/open.h"
#include "models/model.h"
#include "report/json_writer.h"

namespace thimble::cli {
namespace {

void list_as_json(const std::vector<DatasetListing>& listings) {
  JsonWriter json(stdout);
  json.begin_array();
  for (const DatasetListing& listing : listings) {
    json.begin_object();
    json.text("name", listing.name);
    json.text("about", listing.about);
    json.text("labels", name_of(listing.has_masks ? Labels::place : Labels::image));
    json.boolean("present", listing.is_present);
    listing.found.empty() ? json.null("found") : json.text("found", listing.found);
    json.texts("places", listing.places);
    json.end_object();
  }
  json.end_array();
}

void list_for_people(const std::vector<DatasetListing>& listings) {
  if (data_root().empty()) std::printf("THIMBLE_DATA is not set: it names the folder where data sets live.\n");
  for (const DatasetListing& listing : listings) {
    std::printf("%s: %s\n", std::string(listing.name).c_str(), std::string(listing.about).c_str());
    if (!listing.found.empty()) {
      std::printf("  found in %s\n", listing.found.c_str());
    } else if (!listing.is_present) {
      std::printf("  not found%s\n", listing.places.empty() ? "" : "; looked in:");
      for (const std::string& place : listing.places) std::printf("    %s\n", place.c_str());
    }
  }
}

ExitCode get(const std::string& name, const Arguments& arguments) {
  const std::string root = data_root();
  require(!root.empty(), "data get: THIMBLE_DATA is not set, wanted the folder where data sets live, such as ",
          "THIMBLE_DATA=~/data");
  GetOptions options{.data_root = root, .base_url = arguments.text("from", "")};
  options.fetch.shows_progress = isatty(STDERR_FILENO) != 0;
  options.tell = [](const std::string& news) { std::fprintf(stderr, "%s\n", news.c_str()); };
  const std::string folder = get_dataset(find_source(name), options);
  const auto dataset = open_dataset(name, {.data_root = root});  // what was fetched is what is needed
  if (arguments.flag("json")) {
    JsonWriter json(stdout);
    json.begin_object();
    json.text("name", name);
    json.text("folder", folder);
    json.integer("train_samples", dataset->count(Split::train));
    json.integer("test_samples", dataset->count(Split::test));
    json.end_object();
  } else {
    std::printf("%s is in %s: %lld training and %lld test samples\n", name.c_str(), folder.c_str(),
                static_cast<long long>(dataset->count(Split::train)),
                static_cast<long long>(dataset->count(Split::test)));
  }
  return ExitCode::good;
}

}  // namespace

ExitCode run_data(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words();
  if (!words.empty()) {
    require(words.size() == 2 && words[0] == "get", "data: found '", words[0], words.size() > 1 ? " " + words[1] : "",
            "', wanted nothing, or get and the name of a data set: thimble data get cifar10");
    return get(words[1], arguments);
  }
  require(!arguments.has("from"), "--from goes with get: thimble data get cifar10 --from URL");
  const std::vector<DatasetListing> listings = list_datasets(data_root());
  arguments.flag("json") ? list_as_json(listings) : list_for_people(listings);
  return ExitCode::good;
}

}  // namespace thimble::cli
