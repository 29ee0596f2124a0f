# find_package(Wharf) finds this build tree by -DWharf_DIR=<it>: its rooms are the targets wharf::split_runtime ... there.
get_property(exported GLOBAL PROPERTY WHARF_EXPORTED)
if(TARGET wharf_tsan_absl)  # ThreadSanitizer's builds link it to every target
  list(APPEND exported wharf_tsan_absl)
endif()
export(TARGETS ${exported} wharf_torch wharf_llvm wharf_openblas NAMESPACE wharf:: FILE ${CMAKE_BINARY_DIR}/WharfTargets.cmake)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/WharfConfig.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
foreach(package Threads absl fmt Eigen3 nlohmann_json OpenSSL PNG CURL yaml-cpp)
  find_dependency(${package})
endforeach()
include(@CMAKE_CURRENT_LIST_DIR@/WharfOpenCv.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/WharfTargets.cmake)
]])
