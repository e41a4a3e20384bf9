<?xml version="1.0" encoding="UTF-8"?>
<!-- Nodes: what each has and how much of it is in use, which are silent, which job has which cores, idle GPUs. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Nodes</xsl:variable>
<xsl:variable name="here">/web/nodes</xsl:variable>
<xsl:key name="running" match="/page/map/rows/item" use="@node"/>

<!-- Nodes on one page: links lead to the others. -->
<xsl:variable name="at-once" select="100"/>
<xsl:variable name="first"><xsl:choose>
	<xsl:when test="/page/asked/@from &gt; 0"><xsl:value-of select="floor(/page/asked/@from)"/></xsl:when>
	<xsl:otherwise>0</xsl:otherwise></xsl:choose></xsl:variable>
<xsl:variable name="nodes" select="/page/nodes/nodes/item[not(/page/asked/@node) or @node = /page/asked/@node]"/>
<!-- Not heard of for a minute: agents report more often. -->
<xsl:variable name="silent" select="/page/nodes/nodes/item[/page/@now_ns - @last_ns &gt; 60000000000]"/>

<xsl:template name="content">
	<xsl:variable name="up" select="nodes/nodes/item[@state = 'up']"/>
	<p><xsl:value-of select="count($up)"/> of <xsl:value-of select="count(nodes/nodes/item)"/> nodes are up,
	with <xsl:value-of select="f:count(sum($up/capacity/@ncpus))"/> cores, of which <xsl:value-of select="f:count(sum($up/capacity/@ncpus) - sum($up/held/@ncpus))"/> are free.
	<xsl:if test="$up/capacity/@ngpus &gt; 0">Of <xsl:value-of select="f:count(sum($up/capacity/@ngpus))"/> GPUs <xsl:value-of select="f:count(sum($up/capacity/@ngpus) - sum($up/held/@ngpus))"/> are free.</xsl:if>
	Enforcement tier 1 is exact; 2 and 3 say in their notes what they cannot hold or measure.</p>
	<xsl:call-template name="silent"/>
	<xsl:call-template name="idle-gpus"/>
	<xsl:choose>
		<xsl:when test="$nodes"><xsl:call-template name="node-table"/><xsl:call-template name="map"/></xsl:when>
		<xsl:when test="asked/@node"><p class="none">There is no node of this name.</p></xsl:when>
		<xsl:otherwise><p class="none">No node has reported yet.</p></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="silent">
	<xsl:if test="$silent">
		<p class="error"><strong><xsl:value-of select="count($silent)"/> silent: </strong>
		<xsl:for-each select="$silent[position() &lt;= 20]">
			<xsl:if test="position() &gt; 1">, </xsl:if>
			<a href="/web/nodes?node={f:encode(@node)}"><xsl:value-of select="@node"/></a> for <xsl:value-of select="f:duration((/page/@now_ns - @last_ns) div 1000000000)"/>
		</xsl:for-each>
		<xsl:if test="count($silent) &gt; 20"> and others</xsl:if>. Their jobs go on if the nodes do; they are reported when the node is heard again.</p>
	</xsl:if>
</xsl:template>

<xsl:template name="idle-gpus">
	<xsl:variable name="idle" select="map/rows/item[@gpu_idle_ns &gt; 0]"/>
	<xsl:if test="$idle">
		<p class="error"><strong>Allocated GPUs that do nothing: </strong>
		<xsl:for-each select="$idle[position() &lt;= 20]">
			<xsl:sort select="@gpu_idle_ns" data-type="number" order="descending"/>
			<xsl:if test="position() &gt; 1">; </xsl:if>
			job <xsl:call-template name="job-link"/> of <xsl:value-of select="@user"/> on <xsl:value-of select="@node"/>, for <xsl:value-of select="f:duration-ns(@gpu_idle_ns)"/>
		</xsl:for-each>.</p>
	</xsl:if>
</xsl:template>

<xsl:template name="node-table">
	<div class="scroll" tabindex="0" role="region" aria-label="Nodes">
	<table>
		<thead><tr>
			<xsl:call-template name="head"><xsl:with-param name="by">node</xsl:with-param><xsl:with-param name="text">Node</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">state</xsl:with-param><xsl:with-param name="text">State</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">jobs</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<th scope="col">Cores in use</th>
			<th scope="col">Memory in use</th>
			<th scope="col" class="figure">GPUs free</th>
			<xsl:call-template name="head"><xsl:with-param name="by">tier</xsl:with-param><xsl:with-param name="text">Tier</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<xsl:call-template name="head"><xsl:with-param name="by">last_ns</xsl:with-param><xsl:with-param name="text">Last report</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
			<th scope="col">Drain, notes</th>
		</tr></thead>
		<tbody><xsl:for-each select="$nodes">
			<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
			<xsl:if test="position() &gt; $first and position() &lt;= $first + $at-once"><xsl:call-template name="node-row"/></xsl:if>
		</xsl:for-each></tbody>
	</table>
	</div>
	<xsl:call-template name="other-nodes"/>
</xsl:template>

<xsl:template name="node-row">
	<tr><th scope="row"><a href="/web/nodes?node={f:encode(@node)}"><xsl:value-of select="@node"/></a></th><td><xsl:value-of select="@cluster"/></td>
	<td><xsl:call-template name="state"/></td>
	<td class="figure"><xsl:value-of select="f:count(@jobs)"/></td>
	<td><span class="pair"><xsl:value-of select="held/@ncpus"/> of <xsl:value-of select="capacity/@ncpus"/></span>
		<xsl:call-template name="bar"><xsl:with-param name="part" select="held/@ncpus"/><xsl:with-param name="whole" select="capacity/@ncpus"/></xsl:call-template></td>
	<td><span class="pair"><xsl:value-of select="f:bytes(held/@mem_bytes)"/> of <xsl:value-of select="f:bytes(capacity/@mem_bytes)"/></span>
		<xsl:call-template name="bar"><xsl:with-param name="part" select="held/@mem_bytes"/><xsl:with-param name="whole" select="capacity/@mem_bytes"/></xsl:call-template></td>
	<td class="figure"><xsl:if test="capacity/@ngpus &gt; 0"><xsl:value-of select="capacity/@ngpus - held/@ngpus"/> of <xsl:value-of select="capacity/@ngpus"/></xsl:if></td>
	<td class="figure"><xsl:value-of select="@tier"/></td>
	<td class="figure"><xsl:value-of select="f:duration((/page/@now_ns - @last_ns) div 1000000000)"/> ago</td>
	<td class="sentence"><xsl:if test="drain"><xsl:value-of select="drain/@author"/>: <xsl:value-of select="drain/@reason"/>. </xsl:if>
		<xsl:for-each select="notes/item[position() &lt;= 3]"><xsl:value-of select="@text"/>. </xsl:for-each></td></tr>
</xsl:template>

<xsl:template name="other-nodes">
	<xsl:if test="count($nodes) &gt; $at-once">
		<p>Nodes <xsl:value-of select="$first + 1"/> to <xsl:choose>
			<xsl:when test="$first + $at-once &lt; count($nodes)"><xsl:value-of select="$first + $at-once"/></xsl:when>
			<xsl:otherwise><xsl:value-of select="count($nodes)"/></xsl:otherwise></xsl:choose> of <xsl:value-of select="count($nodes)"/>.
		<xsl:if test="$first &gt; 0"><a rel="prev"><xsl:call-template name="nodes-from"><xsl:with-param name="from" select="$first - $at-once"/></xsl:call-template>The <xsl:value-of select="$at-once"/> before</a><xsl:text> </xsl:text></xsl:if>
		<xsl:if test="$first + $at-once &lt; count($nodes)"><a rel="next"><xsl:call-template name="nodes-from"><xsl:with-param name="from" select="$first + $at-once"/></xsl:call-template>The next <xsl:value-of select="$at-once"/></a></xsl:if></p>
	</xsl:if>
</xsl:template>

<xsl:template name="nodes-from">
	<xsl:param name="from"/>
	<xsl:attribute name="href">/web/nodes?<xsl:for-each select="/page/asked/@*[name() != 'from']"><xsl:value-of select="concat(name(), '=', f:encode(.), '&amp;')"/></xsl:for-each>from=<xsl:value-of select="$from"/></xsl:attribute>
</xsl:template>

<!-- ==== the map of cores ==== -->
<xsl:template name="map">
	<h2 id="map">Which job has which cores</h2>
	<xsl:choose>
		<xsl:when test="not(map/rows/item)"><p class="none">No job runs<xsl:if test="asked/@node"> here</xsl:if>.</p></xsl:when>
		<xsl:otherwise>
			<div class="scroll" tabindex="0" role="region" aria-label="Cores"><table class="map">
				<thead><tr><th scope="col">Node</th><th scope="col">Its cores, from 0 on the left</th><th scope="col">Jobs and their cores</th></tr></thead>
				<tbody><xsl:for-each select="$nodes[key('running', @node)][position() &lt;= $at-once]"><xsl:call-template name="map-row"/></xsl:for-each></tbody>
			</table></div>
			<xsl:if test="map/@next"><p>The map ends before node <a href="/web/nodes?node={f:encode(map/@next)}"><xsl:value-of select="map/@next"/></a>: a node's own page shows its cores.</p></xsl:if>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="map-row">
	<xsl:variable name="jobs" select="key('running', @node)"/>
	<!-- Numbers of hardware threads may go beyond the number of cores. -->
	<xsl:variable name="cores"><xsl:for-each select="$jobs/spans/item">
		<xsl:sort select="@first + @n" data-type="number" order="descending"/>
		<xsl:if test="position() = 1"><xsl:value-of select="@first + @n"/></xsl:if>
	</xsl:for-each></xsl:variable>
	<xsl:variable name="width"><xsl:choose>
		<xsl:when test="$cores &gt; capacity/@ncpus"><xsl:value-of select="$cores"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="capacity/@ncpus"/></xsl:otherwise></xsl:choose></xsl:variable>
	<tr>
		<th scope="row"><xsl:value-of select="@node"/></th>
		<td><svg class="cores" viewBox="0 0 {$width} 1" preserveAspectRatio="none" aria-hidden="true">
			<rect class="whole" width="{$width}" height="1"/>
			<xsl:for-each select="$jobs"><xsl:variable name="tone"><xsl:choose>
				<xsl:when test="not(@job)">other</xsl:when>
				<xsl:otherwise>tone<xsl:value-of select="position() mod 3"/></xsl:otherwise></xsl:choose></xsl:variable>
				<xsl:for-each select="spans/item"><rect class="{$tone}" x="{@first}" width="{@n}" height="1"/></xsl:for-each>
			</xsl:for-each>
		</svg></td>
		<td class="sentence"><xsl:for-each select="$jobs">
			<xsl:if test="position() &gt; 1">; </xsl:if>
			<xsl:choose>
				<xsl:when test="@job"><xsl:call-template name="job-link"/><xsl:text> </xsl:text><xsl:value-of select="@name"/><xsl:if test="/page/@operator"> of <xsl:value-of select="@user"/></xsl:if></xsl:when>
				<xsl:otherwise>another's job</xsl:otherwise>
			</xsl:choose>: <xsl:choose>
				<xsl:when test="@cpus != ''"><xsl:value-of select="translate(@cpus, ',', ' ')"/></xsl:when>
				<xsl:otherwise><xsl:value-of select="@ncpus"/> not reported yet</xsl:otherwise>
			</xsl:choose><xsl:if test="@ngpus &gt; 0">, <xsl:value-of select="@ngpus"/> GPU</xsl:if><xsl:if test="@suspended"> (suspended)</xsl:if>
		</xsl:for-each></td>
	</tr>
</xsl:template>
</xsl:stylesheet>
