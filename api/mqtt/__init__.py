"""MQTT 3.1.1 over WebSocket: the topics of Hornet (Chrysalis) and inx-mqtt (Stardust, TIP-28), live only.

Input: a WebSocket of the application; new complete milestones. Output: PUBLISH packets. Not allowed here: topics of one
era in the module of the other; messages that clients publish; memory per client without a limit.
"""
