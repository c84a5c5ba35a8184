#include "data/file_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"

namespace thimble::test {
namespace {

void send_all(int connection, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(connection, at, size, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

std::string read_request(int connection) {
  std::string text;
  char piece[4096];
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = ::recv(connection, piece, sizeof(piece), 0);
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

// "Range: bytes=100-" as programs that go on send it; 0 without one.
std::int64_t range_of(const std::string& request) {
  const std::string key = "Range: bytes=";
  const std::size_t at = request.find(key);
  return at == std::string::npos ? 0 : std::stoll(request.substr(at + key.size()));
}

}  // namespace

FileServer::FileServer(std::map<std::string, ByteList> files) : files_(std::move(files)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  ensure(listener_ >= 0 && ::bind(listener_, plain, size) == 0 && ::listen(listener_, 8) == 0 &&
             ::getsockname(listener_, plain, &size) == 0,
         "the test's server does not start");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FileServer::~FileServer() {
  ::shutdown(listener_, SHUT_RDWR);  // wakes the thread
  thread_.join();
  ::close(listener_);
}

std::string FileServer::url() const { return join_text("http://127.0.0.1:", port_); }

std::vector<std::string> FileServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FileServer::serve() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection);
    ::shutdown(connection, SHUT_RDWR);
    ::close(connection);
  }
}

void FileServer::answer(int connection) {
  const std::string request = read_request(connection);
  const std::string path = request.substr(4, request.find(' ', 4) - 4);
  std::int64_t from = range_of(request);
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(from > 0 ? join_text("GET ", path, " from ", from) : "GET " + path);
  }
  const auto found = files_.find(path);
  if (found == files_.end()) {
    const std::string text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    return send_all(connection, text.data(), text.size());
  }
  const ByteList& file = found->second;
  if (ignores_ranges) from = 0;
  const auto size = static_cast<std::int64_t>(file.size());
  std::string head = from > 0 ? join_text("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ", from, "-", size - 1,
                                          "/", size, "\r\n")
                              : std::string("HTTP/1.1 200 OK\r\n");
  if (!ignores_ranges) head += "Accept-Ranges: bytes\r\n";
  head += join_text("Content-Length: ", size - from, "\r\nConnection: close\r\n\r\n");
  send_all(connection, head.data(), head.size());
  const std::int64_t limit = hang_up_after.exchange(-1);
  const std::int64_t count = limit < 0 ? size - from : std::min(limit, size - from);
  send_all(connection, file.data() + from, static_cast<std::size_t>(count));
}

}  // namespace thimble::test
