#include "formats/npy.h"

#include <array>
#include <charconv>
#include <optional>

#include "formats/checked_shape.h"
#include "formats/publish.h"

namespace thimble {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr Bytes kMaxHeaderBytes = 64 * kKiB;  // real ones take some 120 bytes
constexpr Bytes kAlignment = 64;

struct NpyType {
  DType dtype;
  std::string_view name;
};

constexpr std::array<NpyType, 4> kTypes = {
    {{DType::f32, "<f4"}, {DType::f64, "<f8"}, {DType::i32, "<i4"}, {DType::u8, "|u1"}}};

// The header is a Python dictionary. This reads the one form of it that numpy writes, with keys in any order.
class DictReader {
 public:
  DictReader(std::string_view name, std::string_view text) : name_(name), rest_(text) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    require(rest_.empty(), name_, ": found more text after the header's dictionary");
    require(dtype_ && shape_ && has_order_, name_, ": the header must state descr, fortran_order and shape");
    return {.dtype = *dtype_, .shape = *shape_};
  }

 private:
  void read_entry() {
    const std::string_view key = read_text();
    expect(':');
    if (key == "descr" && !dtype_) {
      read_type();
    } else if (key == "fortran_order" && !has_order_) {
      has_order_ = accept_word("False");
      require(has_order_, name_, ": fortran_order must be False: only C order is supported");
    } else if (key == "shape" && !shape_) {
      read_shape();
    } else {
      fail_user(join_text(name_, ": unknown or repeated key '", key.substr(0, 64), "' in the header"));
    }
  }

  void read_type() {
    const std::string_view text = read_text();
    for (const NpyType& type : kTypes) {
      if (type.name == text) dtype_ = type.dtype;
    }
    require(dtype_.has_value(), name_, ": holds elements '", text.substr(0, 64),
            "', supported are '<f4', '<f8', '<i4' and '|u1'");
  }

  void read_shape() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      require(dims.size() < Shape::kMaxRank, name_, ": more than ", Shape::kMaxRank, " dimensions are not supported");
      dims.push_back(read_integer());
      if (accept(',')) continue;
      require(dims.size() > 1, name_, ": a shape of one dimension is written (n,)");
      expect(')');
      break;
    }
    shape_ = checked_shape(name_, dims);
  }

  std::int64_t read_integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    require(error == std::errc{}, name_, ": the shape holds something that is not an integer of at most 63 bits");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::string_view read_text() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    require((quote == '\'' || quote == '"') && end != std::string_view::npos, name_,
            ": wanted a text in quotes, found '", rest_.substr(0, 16), "'");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool accept(char wanted) { return accept_word({&wanted, 1}); }

  void expect(char wanted) {
    require(accept(wanted), name_, ": wanted '", std::string_view(&wanted, 1), "' in the header, found '",
            rest_.substr(0, 16), "'");
  }

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }

  std::string_view name_;
  std::string_view rest_;
  std::optional<DType> dtype_;
  std::optional<Shape> shape_;
  bool has_order_ = false;
};

std::string dims_text(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t dim : shape.dims()) text += std::to_string(dim) + (shape.rank() == 1 ? "," : ", ");
  if (shape.rank() > 1) text.resize(text.size() - 2);
  return text + ')';
}

std::string header_text(DType dtype, const Shape& shape) {
  std::string_view type;
  for (const NpyType& row : kTypes) {
    if (row.dtype == dtype) type = row.name;
  }
  ensure(!type.empty(), "npy: cannot hold ", name_of(dtype));
  std::string dictionary =
      join_text("{'descr': '", type, "', 'fortran_order': False, 'shape': ", dims_text(shape), ", }");
  // Magic, version and length take 10 bytes, the line end one; spaces between make the data start aligned.
  const Bytes total = round_up(static_cast<Bytes>(10 + dictionary.size() + 1), kAlignment);
  dictionary.resize(static_cast<std::size_t>(total - 11), ' ');
  const auto length = static_cast<unsigned>(total - 10);
  std::string text(kMagic);
  text += {'\x01', '\0', static_cast<char>(length & 0xffU), static_cast<char>(length >> 8)};
  return text + dictionary + '\n';
}

}  // namespace

NpyHeader parse_npy(const ByteSource& source) {
  std::array<unsigned char, 12> start{};
  const Bytes start_bytes = std::min<Bytes>(source.size, static_cast<Bytes>(start.size()));
  source.read(0, std::as_writable_bytes(std::span(start)).first(static_cast<std::size_t>(start_bytes)));
  const std::string_view text(reinterpret_cast<const char*>(start.data()), static_cast<std::size_t>(start_bytes));
  require(text.starts_with(kMagic) && start_bytes >= 10, source.name, ": does not start as a .npy file does");
  const unsigned version = start[6];
  require(version >= 1 && version <= 3 && start[7] == 0, source.name, ": is of .npy version ", version, ".", start[7],
          ", supported are 1.0, 2.0 and 3.0");

  Bytes length = start[8] | start[9] << 8;
  if (version > 1) length |= static_cast<Bytes>(start[10]) << 16 | static_cast<Bytes>(start[11]) << 24;
  const Bytes header_begin = version == 1 ? 10 : 12;
  require(header_begin <= source.size && length <= std::min(kMaxHeaderBytes, source.size - header_begin), source.name,
          ": states a header of ", length, " bytes, at most ", kMaxHeaderBytes,
          " and the size of the file are possible");
  std::string dictionary(static_cast<std::size_t>(length), '\0');
  source.read(header_begin, std::as_writable_bytes(std::span(dictionary)));

  NpyHeader header = DictReader(source.name, dictionary).read();
  header.data_begin = header_begin + length;
  require(source.size - header.data_begin == header.bytes(), source.name, ": holds ", source.size - header.data_begin,
          " bytes of data, ", name_of(header.dtype), to_text(header.shape), " takes ", header.bytes());
  return header;
}

void NpyFile::read(Bytes offset, std::span<std::byte> out) const {
  const Bytes wanted = static_cast<Bytes>(out.size());
  ensure(offset >= 0 && wanted <= header_.bytes() && offset <= header_.bytes() - wanted, "npy: wanted ", wanted,
         " bytes at offset ", offset, " of ", file_.path(), ", which has ", header_.bytes());
  read_at(file_, header_.data_begin + offset, out);
}

void write_npy(const std::string& path, DType dtype, const Shape& shape, std::span<const std::byte> data) {
  ensure(static_cast<Bytes>(data.size()) == shape.count() * bytes_of(dtype), "npy: ", data.size(), " bytes given, ",
         name_of(dtype), to_text(shape), " takes ", shape.count() * bytes_of(dtype));
  Publication file(path);
  file.append(bytes_of_text(header_text(dtype, shape)));
  file.append(data);
  file.publish();
}

}  // namespace thimble
