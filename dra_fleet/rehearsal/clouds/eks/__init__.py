"""A simulated AWS: EKS, and of EC2 and IAM what a program of GPU fleets needs around it.

Inputs are held to botocore's service models, enums and patterns included; rules and grammar are those of the
AWS documentation (https://docs.aws.amazon.com/eks/). Not simulated: autoscaling (node groups stay at their
desired size), traffic in networks, and what IAM policies allow.
"""
