#include "data/cifar100.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "data/cifar_records.h"

namespace thimble {
namespace {

constexpr const char* kTrainFile = "train.bin";
constexpr const char* kTestFile = "test.bin";

// In the order of fine_label_names.txt, which comes with the files.
constexpr std::array<std::string_view, 100> kClasses = {
    "apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
    "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
    "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
    "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
    "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
    "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
    "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
    "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
    "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
    "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
    "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
    "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
    "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
    "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
    "woman",      "worm"};

}  // namespace

bool is_cifar100_folder(const std::string& folder) {
  return is_file(join_path(folder, kTrainFile)) && is_file(join_path(folder, kTestFile));
}

std::unique_ptr<Dataset> open_cifar100(const std::string& folder) {
  return open_cifar100(InputFile(join_path(folder, kTrainFile)), InputFile(join_path(folder, kTestFile)));
}

std::unique_ptr<Dataset> open_cifar100(InputFile train, InputFile test) {
  DatasetInfo info{.name = "cifar100",
                   .sample_shape = {},
                   .class_names = {kClasses.begin(), kClasses.end()},
                   .mean = {0.5071F, 0.4865F, 0.4409F},
                   .deviation = {0.2673F, 0.2564F, 0.2762F}};
  std::vector<InputFile> files;
  files.push_back(std::move(train));
  return open_cifar_records(std::move(info), {.label_bytes = 2, .label_at = 1}, std::move(files), std::move(test));
}

}  // namespace thimble
