// The words of a command line, and waiting to be measured, for the examples' programs.
//
//   for (Arguments words(argc, argv, kUsage); words.Next();) {
//     if (words.Is("--image")) image = words.Value();
//     else words.Refuse();
//   }
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

class Arguments {
 public:
  Arguments(int argc, char** argv, std::string usage) : argc_(argc), argv_(argv), usage_(std::move(usage)) {}

  bool Next() {
    if (++index_ >= argc_) return false;
    word_ = argv_[index_];
    return true;
  }
  bool Is(const char* name) const { return word_ == name; }
  const std::string& word() const { return word_; }
  // What follows an option.
  std::string Value() {
    if (index_ + 1 >= argc_) throw std::runtime_error(word_ + " needs a value\n" + usage_);
    return argv_[++index_];
  }
  int Number(int least, int most) {
    const std::string name = word_, value = Value();
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end || number < least || number > most)
      throw std::runtime_error(name + " wants a number from " + std::to_string(least) + " to " + std::to_string(most));
    return int(number);
  }
  [[noreturn]] void Refuse() const {
    throw std::runtime_error((word_ == "--help" ? "" : "unknown option " + word_ + "\n") + usage_);
  }

 private:
  int argc_, index_ = 0;
  char** argv_;
  std::string usage_, word_;
};

// Says "ready" on standard output and waits for a line on standard input, so that who measures can start there.
inline void WaitToBeMeasured() {
  std::puts("ready");
  std::fflush(stdout);
  for (int c = std::getchar(); c != '\n' && c != EOF;) c = std::getchar();
}
