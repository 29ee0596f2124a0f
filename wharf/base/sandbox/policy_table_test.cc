// Tries every system call under every policy, and compares what became of them with the table in docs/security.md:
// WHARF_WRITE_TABLE=1 writes that instead.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "wharf/base/sandbox/policies.h"

namespace wharf {
namespace {

// Of x86-64, as the kernel's header has them.
constexpr const char* kNumbers = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h";
constexpr const char* kBegin = "<!-- policies: begin -->\n";
constexpr const char* kEnd = "<!-- policies: end -->";

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<uint32_t, std::string> Names() {
  std::map<uint32_t, std::string> names;
  const std::string text = TextOf(kNumbers);
  const std::regex line(R"(#define __NR_(\w+) (\d+))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    names[static_cast<uint32_t>(std::stoul((*it)[2]))] = (*it)[1];
  }
  return names;
}

// Whether a process that makes the call, with arguments that do no harm, is ended for it.
bool Ends(const SandboxPolicy& policy, uint32_t call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(2);  // some wait
    if (!EnterSandbox(policy).ok()) _exit(1);
    syscall(call, -1, 0, 0, 0, 0, 0);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

std::string Listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text.empty() ? "none" : text;
}

struct Tried {
  std::set<std::string> allowed, by_arguments, refused;
};

// To tell refusals of the policy from the kernel's own, they end the
// process in a second run.
Tried TryAll(const SandboxPolicy& policy, const std::map<uint32_t, std::string>& names) {
  SandboxPolicy strict = policy;
  std::set<uint32_t> conditional;
  for (CallRule& rule : strict.rules) {
    if (!rule.when.empty() && rule.verdict == Verdict::kAllow) conditional.insert(rule.call);
    if (rule.verdict != Verdict::kAllow) rule.verdict = Verdict::kKill;
  }
  Tried tried;
  for (const auto& [call, name] : names) {
    if (conditional.contains(call)) {
      tried.by_arguments.insert(name);
    } else if (Ends(strict, call)) {
      // One that ends the process anyway is not worth its name.
      if (policy.others == Verdict::kAllow || !Ends(policy, call)) tried.refused.insert(name);
    } else {
      tried.allowed.insert(name);
    }
  }
  return tried;
}

std::string Section(const std::string& title, const SandboxPolicy& policy,
                    const std::map<uint32_t, std::string>& names) {
  const Tried tried = TryAll(policy, names);
  const std::string rest = policy.others == Verdict::kKill ? "the process ends" : "allowed";
  std::string text = "**" + title + "**\n\n| outcome | calls |\n| --- | --- |\n";
  if (policy.others == Verdict::kKill) text += "| allowed | " + Listed(tried.allowed) + " |\n";
  text += "| allowed with some arguments | " + Listed(tried.by_arguments) + " |\n";
  text += "| refused | " + Listed(tried.refused) + " |\n";
  return text + "| any other | " + rest + " |\n\n";
}

TEST(PolicyTableTest, ThePageSaysWhatBecomesOfEverySystemCall) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the table has the numbers of x86-64";
#endif
  if (kSanitized) GTEST_SKIP() << "policies are weaker with a sanitizer";
  const std::map<uint32_t, std::string> names = Names();
  if (names.empty()) GTEST_SKIP() << kNumbers << " is not here";
  const std::string table = "\n" + Section("A worker on the software device", SoftWorkerPolicy(), names) +
                            Section("A worker that runs models on the processor", ModelWorkerPolicy(), names) +
                            Section("The process that compiles kernels", CompilerPolicy(), names) +
                            Section("The keeper of files", KeeperPolicy(), names) +
                            Section("The decoder of pictures", DecoderPolicy(), names) +
                            Section("A server of AR clients, models on the processor", AcceptingServerPolicy(), names) +
                            Section("A scheduler or worker of pipelines", PeerServerPolicy(), names) +
                            Section("A worker with a GPU", GpuWorkerPolicy(), names) +
                            Section("A worker of a partitioned device", NetworkedPolicy(), names);
  const std::string page = TextOf(WHARF_SECURITY_PAGE);
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << WHARF_SECURITY_PAGE << " has no markers";
  const size_t from = begin + std::string(kBegin).size();
  if (std::getenv("WHARF_WRITE_TABLE") != nullptr) {
    std::ofstream(WHARF_SECURITY_PAGE) << page.substr(0, from) << table << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table) << "WHARF_WRITE_TABLE=1 writes the page anew";
}

}  // namespace
}  // namespace wharf
