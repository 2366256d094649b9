"""Requests to the controller, each as a flow that responds, with its checks in Kafka's order.

It may import the other modules of the controller. A broker that is not the controller answers
NOT_CONTROLLER itself.
"""
