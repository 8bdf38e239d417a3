"""A simulated Alibaba Cloud: ACK's managed clusters and node pools, and the network a fleet stands in.

Inputs are held to the published provider's, each with its place in ACK's own API (`fields.yaml`, which a test
compares with both); rules are those of the provider's pages and of the Help Center
(https://www.alibabacloud.com/help/en/ack/). Not simulated: autoscaling (pools stay at the size they begin
with), traffic in networks, what RAM policies allow, and cGPU.
"""
