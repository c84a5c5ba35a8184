#include "goldens/golden.h"

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"

namespace thimble::testing {
namespace {

constexpr std::size_t kSketch = 128;
const std::string kFolder = "tests/goldens/";

Recipe read_recipe(const std::string& path) {
  std::ifstream in(path);
  require(in.good(), "goldens: cannot open ", path, "; run the tests from the project's folder");
  const nlohmann::json json = nlohmann::json::parse(in);
  Recipe recipe;
  recipe.model.name = json.at("network");
  const auto sample = json.at("sample").get<std::vector<std::int64_t>>();
  recipe.model.sample = Shape(std::span<const std::int64_t>(sample));
  recipe.model.classes = json.at("classes");
  recipe.model.label_smoothing = json.at("label_smoothing");
  recipe.batch = json.at("batch");
  recipe.seed = json.at("seed");
  recipe.steps = json.at("steps");
  for (const auto& [name, numbers] : json.at("optimizers").items()) {
    OptimizerRecipe& optimizer = recipe.optimizers[name];
    optimizer.spec.kind = optimizer_from_name(name);
    optimizer.spec.weight_decay = numbers.at("weight_decay");
    optimizer.spec.decay_vectors = json.at("decay_vectors");
    optimizer.spec.clip_norm = json.value("clip_norm", 0.0);
    optimizer.learning_rate = numbers.at("learning_rate");
  }
  recipe.float32_error = json.at("float32_error").get<std::map<std::string, double>>();
  for (const auto& [group, picked] : json.at("batches").items())
    recipe.batches[group] = picked.get<std::vector<std::int64_t>>();
  return recipe;
}

RandomKey key_of(std::uint64_t seed, RandomPurpose purpose, const std::string& stream) {
  return random_key(seed, purpose, hash_text(stream.data(), stream.size()));
}

// Ours (taps..., I, O), PyTorch's (O, I, taps...).
std::int64_t torch_index(const Shape& shape, std::int64_t ours) {
  if (shape.rank() < 2) return ours;
  const std::int64_t outputs = shape.at(-1), inputs = shape.at(-2), taps = shape.count() / (inputs * outputs);
  const std::int64_t output = ours % outputs, input = ours / outputs % inputs, tap = ours / outputs / inputs;
  return (output * inputs + input) * taps + tap;
}

// Each element goes to one of kSketch sums with a random sign; differences keep their L2 norm within some percent.
std::vector<double> sketch(const std::vector<double>& values) {
  if (values.size() <= kSketch) return values;
  const RandomKey key = key_of(0, RandomPurpose::test, "sketch");
  std::vector<double> sums(kSketch, 0.0);
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto words = random_bits(key, i / 4, 0);
    for (std::size_t k = 0; k < 4 && i + k < values.size(); ++k) {
      const double sign = (words[k] >> 7 & 1) != 0 ? -1 : 1;
      sums[words[k] % kSketch] += sign * values[i + k];
    }
  }
  return sums;
}

// Norms are moved away from one and zero, so that a forgotten scale or shift shows at once.
double initial_value(const TensorSpec& spec, RandomKey key, std::uint64_t index) {
  if (spec.init == Init::normal) return spec.scale * static_cast<double>(random_normal(key, index));
  const double around_zero = 2 * static_cast<double>(random_uniform(key, index)) - 1;
  switch (spec.init) {
    case Init::ones: return 1 + 0.25 * around_zero;
    case Init::zeros: return 0.2 * around_zero;
    default: return spec.scale * around_zero;
  }
}

}  // namespace

Golden::Golden(const std::string& name)
    : recipe_(read_recipe(kFolder + name + ".json")), file_(open_to_read(kFolder + name + ".safetensors")) {}

std::vector<double> Golden::stored(const std::string& tensor) const {
  const StoredTensor found = file_.get(tensor);
  require(found.type == StoredType::f32, "goldens: '", tensor, "' is ", name_of(found.type), ", wanted F32");
  std::vector<float> values(static_cast<std::size_t>(found.shape.count()));
  file_.read(found, 0, std::as_writable_bytes(std::span(values)));
  return {values.begin(), values.end()};
}

std::vector<std::string> Golden::names_under(const std::string& prefix) const {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < file_.table().count(); ++i) {
    const std::string_view name = file_.table().at(i).name;
    if (name.starts_with(prefix)) names.emplace_back(name.substr(prefix.size()));
  }
  return names;
}

std::vector<Shift> Golden::shifts(const std::string& group, std::int64_t step) const {
  const std::string prefix = "shift/" + group + "/";
  std::vector<Shift> shifts;
  for (const std::string& name : names_under(prefix)) {
    const std::int64_t channels = file_.get(prefix + name).shape.at(-1);
    const std::vector<double> all = stored(prefix + name);  // (steps, channels)
    const auto begin = all.begin() + step * channels;
    shifts.push_back({name, {begin, begin + channels}});
  }
  return shifts;
}

double Golden::relative_error(const std::string& tensor, const std::vector<double>& ours) const {
  return relative_error_from(tensor, ours, std::vector<double>(ours.size(), 0.0));
}

double Golden::relative_error_from(const std::string& tensor, const std::vector<double>& ours,
                                   const std::vector<double>& origin) const {
  const std::vector<double> a = sketch(ours), b = stored(tensor), o = sketch(origin);
  require(a.size() == b.size() && a.size() == o.size(), "goldens: '", tensor, "' has ", a.size(),
          " numbers of ours and ", b.size(), " of PyTorch's");
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += (b[i] - o[i]) * (b[i] - o[i]);
  }
  return std::sqrt(difference / size);
}

void draw_tensor(const Recipe& recipe, const TensorSpec& spec, const TensorView& out) {
  const RandomKey key = key_of(recipe.seed, RandomPurpose::init, spec.name);
  parallel_for(kThreads, out.shape.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      store(out, i, initial_value(spec, key, static_cast<std::uint64_t>(torch_index(out.shape, i))));
    }
  });
}

void draw_images(const Recipe& recipe, std::int64_t index, std::int64_t first, const TensorView& out) {
  const RandomKey key = key_of(recipe.seed, RandomPurpose::test, join_text("images/", index));
  const std::int64_t skipped = first * recipe.model.sample.count();
  parallel_for(kThreads, out.shape.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      store(out, i, static_cast<double>(random_normal(key, static_cast<std::uint64_t>(skipped + i))));
    }
  });
}

void draw_labels(const Recipe& recipe, std::int64_t index, std::int64_t first, const TensorView& out) {
  const RandomKey key = key_of(recipe.seed, RandomPurpose::test, join_text("labels/", index));
  const std::int64_t skipped = first * (out.shape.count() / out.shape[0]);  // places of the samples before
  for (std::int64_t i = 0; i < out.shape.count(); ++i) {
    const auto draw = static_cast<double>(random_uniform(key, static_cast<std::uint64_t>(skipped + i)));
    store(out, i, std::floor(draw * static_cast<double>(recipe.model.classes)));
  }
}

std::vector<double> in_torch_order(const TensorView& view) {
  std::vector<double> values(static_cast<std::size_t>(view.shape.count()));
  for (std::int64_t i = 0; i < view.shape.count(); ++i) {
    values[static_cast<std::size_t>(torch_index(view.shape, i))] = load(view, i);
  }
  return values;
}

}  // namespace thimble::testing
