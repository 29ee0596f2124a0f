"""Detections in a camera's pictures, by a model that this robot and a server at the wireless edge compute together.

`node` is the ROS 2 node; `messages` makes its messages. What the others do needs no ROS: `newest` keeps the newest
frame, `pictures` reads the encodings of images, `boxes` what models find, `inference` has the model, `health` counts.
"""
