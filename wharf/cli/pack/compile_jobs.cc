#include "wharf/cli/pack/compile_jobs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "wharf/base/json/parse_json.h"

namespace wharf::cli {
namespace {

using Json = nlohmann::json;

// nvcc's flags that DeviceFlags leaves out. With a value: it follows as a word of its own or behind "=".
constexpr std::array<std::string_view, 29> kAlone = {"-c",
                                                     "--compile",
                                                     "-dc",
                                                     "--device-c",
                                                     "-dw",
                                                     "--device-w",
                                                     "-dlink",
                                                     "--device-link",
                                                     "-ptx",
                                                     "--ptx",
                                                     "-cubin",
                                                     "--cubin",
                                                     "-fatbin",
                                                     "--fatbin",
                                                     "-E",
                                                     "--preprocess",
                                                     "-M",
                                                     "-MM",
                                                     "-MD",
                                                     "-MMD",
                                                     "-MP",
                                                     "--generate-dependencies",
                                                     "--generate-dependencies-with-compile",
                                                     "-MG",
                                                     "--dryrun",
                                                     "-dryrun",
                                                     "--keep",
                                                     "-keep",
                                                     "--link"};
constexpr std::array<std::string_view, 13> kWithValue = {
    "-o",    "--output-file", "-MF",      "--dependency-output", "-MT",       "-MQ", "-arch", "--gpu-architecture",
    "-code", "--gpu-code",    "-gencode", "--generate-code",     "--keep-dir"};

bool IsAmong(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Reads one word from the start of `text`, which is not white space.
absl::StatusOr<std::string> TakeWord(std::string_view& text) {
  std::string word;
  char quote = 0;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::string_view(" \t\r\n").find(c) != std::string_view::npos) break;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      const char next = text[i + 1];
      if (quote == '"' && next != '"' && next != '\\' && next != '$' && next != '`') word.push_back(c);
      word.push_back(text[++i]);
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      word.push_back(c);
    }
  }
  if (quote != 0) return InvalidArgument("a quote that is not closed: {}", text.substr(0, 60));
  text.remove_prefix(i);
  return word;
}

absl::StatusOr<std::vector<std::string>> ArgumentsOf(const Json& entry) {
  if (entry.contains("arguments") && entry["arguments"].is_array()) {
    std::vector<std::string> arguments;
    for (const Json& word : entry["arguments"]) {
      if (!word.is_string()) return InvalidArgument("an argument that is no text");
      arguments.push_back(word.get<std::string>());
    }
    return arguments;
  }
  if (!entry.contains("command") || !entry["command"].is_string()) return InvalidArgument("an entry without a command");
  return SplitWords(entry["command"].get<std::string>());
}

bool IsWanted(const std::string& source, const std::vector<std::string>& only) {
  if (!source.ends_with(".cu")) return false;
  const auto holds = [&](const std::string& part) { return source.find(part) != std::string::npos; };
  return only.empty() || std::any_of(only.begin(), only.end(), holds);
}

// How many words stand before the flags: compilers are started through others, such as ccache.
size_t WordsOfCompiler(const std::vector<std::string>& arguments) {
  size_t words = 0;
  while (words < arguments.size() && !arguments[words].starts_with("-")) ++words;
  return words;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty()) return words;
    WHARF_ASSIGN_OR_RETURN(std::string word, TakeWord(text));
    words.push_back(std::move(word));
  }
}

std::vector<std::string> DeviceFlags(const std::vector<std::string>& arguments, std::string_view source) {
  std::vector<std::string> flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (word == source || IsAmong(word, kAlone)) continue;
    if (IsAmong(name, kWithValue)) {
      if (name.size() == word.size()) ++i;
      continue;
    }
    flags.push_back(word);
  }
  return flags;
}

absl::StatusOr<std::vector<CompileJob>> ReadCompileCommands(const std::string& json,
                                                            const std::vector<std::string>& only) {
  constexpr JsonLimits kLimits{.bytes = size_t{1} << 28, .depth = 8};
  WHARF_ASSIGN_OR_RETURN(const Json entries, ParseJson(json, "a list of compile commands", kLimits));
  if (!entries.is_array()) return InvalidArgument("not a list of compile commands");
  std::vector<CompileJob> jobs;
  std::set<std::string> known;
  for (const Json& entry : entries) {
    if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string()) {
      return InvalidArgument("a compile command without a file");
    }
    const auto file = entry["file"].get<std::string>();
    const std::string directory =
        entry.contains("directory") && entry["directory"].is_string() ? entry["directory"].get<std::string>() : ".";
    const std::string source = (std::filesystem::absolute(directory) / file).lexically_normal();
    if (!IsWanted(source, only) || !known.insert(source).second) continue;
    WHARF_ASSIGN_OR_RETURN(const std::vector<std::string> arguments, ArgumentsOf(entry));
    const auto first = arguments.begin() + static_cast<ptrdiff_t>(WordsOfCompiler(arguments));
    jobs.push_back({source, std::filesystem::absolute(directory), DeviceFlags({first, arguments.end()}, file)});
  }
  if (jobs.empty()) return NotFound("no CUDA sources (.cu){}", only.empty() ? "" : " that --only lets through");
  return jobs;
}

}  // namespace wharf::cli
