# OpenCV's modules as targets opencv::core, opencv::imgproc ... Debian keeps its CMake files in libopencv-dev, which brings
# every module and what these need; the modules alone have their headers and libraries only.
include_guard(GLOBAL)

find_path(WHARF_OPENCV_INCLUDE opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
foreach(module core imgproc video calib3d features2d imgcodecs videoio)
  find_library(WHARF_OPENCV_${module} opencv_${module} REQUIRED)
  add_library(opencv::${module} UNKNOWN IMPORTED)
  set_target_properties(opencv::${module} PROPERTIES
    IMPORTED_LOCATION ${WHARF_OPENCV_${module}} INTERFACE_INCLUDE_DIRECTORIES ${WHARF_OPENCV_INCLUDE})
endforeach()
