"""Reads logs on the nodes of a Ray cluster.

::

    RayReader (session's process)  <--socket-->  driver (a process that speaks to Ray)
                                                   |  per node one call for news at a time, and
                                                   |  one for a request of the session
                                                 NodeReader (an actor on each node) -> Streams

For each root that is read the session has a conversation with a stream on a node, as with another
host; the driver assigns roots to nodes and forwards bytes. Every hop has back-pressure: the queue
of the session bounds the socket, the driver calls a node again only when it has forwarded what that
node sent, and a stream blocks when its buffer is full. The session's process knows how far each
file was read, so a replacement of any part (actor, node, driver, head) resumes there.

Ray may end or abort a process whose cluster fails; it also prints to the terminal and starts
threads. So it runs in a process of its own, which is restarted when it ends.
"""
