// Runs a fuzz target without libFuzzer: over the files of its corpus, then over mutations of them.
//
//   <program> [--mutations N] [--seed S] <file or folder>...
//
// Each file is run as it is and N times mutated (bytes changed, dropped, repeated, spliced from
// another file). The mutations depend on the seed alone, so a failure repeats. When the target
// aborts or crashes, the input at fault is written to crash-input in the current folder. Exits 1
// when there is no file at all.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"

namespace {

const char* current_data = nullptr;
size_t current_size = 0;

// Only calls that POSIX allows in a signal handler.
void SaveInput(int signal) {
  const int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    size_t done = 0;
    while (done < current_size) {
      const ssize_t n = write(file, current_data + done, current_size - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    close(file);
    constexpr char kMessage[] = "the input at fault was written to crash-input\n";
    [[maybe_unused]] const ssize_t n = write(2, kMessage, sizeof(kMessage) - 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void RunOne(const std::string& input) {
  current_data = input.data();
  current_size = input.size();
  // A buffer of the exact size, so that sanitizers see reads past its end.
  const std::vector<uint8_t> copy(input.begin(), input.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void MutateOnce(std::string* input, const std::vector<std::string>& corpus,
                std::mt19937_64* random) {
  const auto pick = [&](size_t n) { return static_cast<size_t>((*random)() % n); };
  const size_t at = pick(input->size() + 1);
  const size_t length = pick(8) + 1;
  switch (pick(6)) {
    case 0:
      if (at < input->size()) (*input)[at] = static_cast<char>(pick(256));
      break;
    case 1:
      if (at < input->size()) (*input)[at] ^= static_cast<char>(1 << pick(8));
      break;
    case 2:
      input->erase(at, length);
      break;
    case 3:
      input->insert(at, input->substr(pick(input->size() + 1), length));
      break;
    case 4: {
      static constexpr char kPunctuation[] = "{}[]()|*+?^$\\\".,:-=<>/&!~#0123456789\n";
      input->insert(at, 1, kPunctuation[pick(sizeof(kPunctuation) - 1)]);
      break;
    }
    default: {
      const std::string& other = corpus[pick(corpus.size())];
      input->insert(at, other.substr(pick(other.size() + 1), pick(64)));
    }
  }
}

std::vector<std::string> ReadFiles(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) {
      paths.emplace_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      std::exit(1);
    }
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return contents;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long mutations = 0;
  unsigned long seed = 1;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutations" && i + 1 < argc) {
      mutations = std::strtoul(argv[++i], nullptr, 10);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoul(argv[++i], nullptr, 10);
    } else {
      places.push_back(argument);
    }
  }
  const std::vector<std::string> corpus = ReadFiles(places);
  if (corpus.empty()) {
    std::fprintf(stderr, "no input; usage: %s [--mutations N] [--seed S] <file or folder>...\n",
                 argv[0]);
    return 1;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal, SaveInput);
  }
  std::mt19937_64 random(seed);
  for (const std::string& input : corpus) {
    RunOne(input);
    for (unsigned long m = 0; m < mutations; ++m) {
      std::string mutated = input;
      for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
        MutateOnce(&mutated, corpus, &random);
      }
      RunOne(mutated);
    }
  }
  std::printf("%zu inputs, %lu mutations of each: no fault\n", corpus.size(), mutations);
  return 0;
}
