# find_package(Wharf) finds this build tree by -DWharf_DIR=<it>: its rooms are the targets wharf::split_runtime ... there.
get_property(exported GLOBAL PROPERTY WHARF_EXPORTED)
export(TARGETS ${exported} wharf_torch wharf_llvm wharf_openblas NAMESPACE wharf:: FILE ${CMAKE_BINARY_DIR}/WharfTargets.cmake)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/WharfConfig.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
foreach(package Threads absl fmt spdlog Eigen3 nlohmann_json OpenSSL PNG CURL yaml-cpp)
  find_dependency(${package})
endforeach()
include(@CMAKE_CURRENT_LIST_DIR@/WharfOpenCv.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/WharfTargets.cmake)
]])
