<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Nodes</xsl:variable>
<xsl:variable name="here">/web/nodes</xsl:variable>

<xsl:template name="content">
	<xsl:variable name="up" select="nodes/nodes/item[@state = 'up']"/>
	<p><xsl:value-of select="count($up)"/> of <xsl:value-of select="count(nodes/nodes/item)"/> nodes are up,
	with <xsl:value-of select="f:count(sum($up/@ncpus))"/> cores, of which <xsl:value-of select="f:count(sum($up/@ncpus_free))"/> are free.
	Enforcement tier 1 is exact; 2 and 3 say in their notes what they cannot hold or measure.</p>
	<xsl:choose>
		<xsl:when test="nodes/nodes/item">
			<div class="scroll" tabindex="0" role="region" aria-label="Nodes">
			<table>
				<thead><tr><xsl:call-template name="head"><xsl:with-param name="by">node</xsl:with-param><xsl:with-param name="text">Node</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">cluster</xsl:with-param><xsl:with-param name="text">Cluster</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">state</xsl:with-param><xsl:with-param name="text">State</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">jobs</xsl:with-param><xsl:with-param name="text">Jobs</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template>
					<xsl:call-template name="head"><xsl:with-param name="by">ncpus</xsl:with-param><xsl:with-param name="text">Cores in use</xsl:with-param></xsl:call-template><th scope="col">Memory in use</th><th scope="col" class="figure">GPUs free</th>
					<xsl:call-template name="head"><xsl:with-param name="by">tier</xsl:with-param><xsl:with-param name="text">Tier</xsl:with-param><xsl:with-param name="class">figure</xsl:with-param></xsl:call-template><xsl:call-template name="head"><xsl:with-param name="by">last_ns</xsl:with-param><xsl:with-param name="text">Last report</xsl:with-param></xsl:call-template></tr></thead>
				<tbody><xsl:for-each select="nodes/nodes/item">
					<xsl:sort select="number((@*|*/@*|*/*/@*)[name() = $sort])" data-type="number" order="{$order}"/>
			<xsl:sort select="(@*|*/@*|*/*/@*)[name() = $sort]" order="{$order}"/>
					<tr><th scope="row"><xsl:value-of select="@node"/></th><td><xsl:value-of select="@cluster"/></td>
					<td><xsl:call-template name="state"/></td>
					<td class="figure"><xsl:value-of select="f:count(@jobs)"/></td>
					<td><span class="pair"><xsl:value-of select="@ncpus - @ncpus_free"/> of <xsl:value-of select="@ncpus"/></span>
						<xsl:call-template name="bar"><xsl:with-param name="part" select="@ncpus - @ncpus_free"/><xsl:with-param name="whole" select="@ncpus"/></xsl:call-template></td>
					<td><span class="pair"><xsl:value-of select="f:bytes(@mem_bytes - @mem_free_bytes)"/> of <xsl:value-of select="f:bytes(@mem_bytes)"/></span>
						<xsl:call-template name="bar"><xsl:with-param name="part" select="@mem_bytes - @mem_free_bytes"/><xsl:with-param name="whole" select="@mem_bytes"/></xsl:call-template></td>
					<td class="figure"><xsl:if test="@ngpus &gt; 0"><xsl:value-of select="@ngpus_free"/> of <xsl:value-of select="@ngpus"/></xsl:if></td>
					<td class="figure"><xsl:value-of select="@tier"/></td>
					<td><xsl:value-of select="f:time(@last_ns)"/></td></tr>
				</xsl:for-each></tbody>
			</table>
			</div>
		</xsl:when>
		<xsl:otherwise><p class="none">No node has reported yet.</p></xsl:otherwise>
	</xsl:choose>
</xsl:template>
</xsl:stylesheet>
