<?xml version="1.0" encoding="UTF-8"?>
<!-- Jobs that wait, in their order: every factor of their priority, and why they wait. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Queue</xsl:variable>
<xsl:variable name="here">/web/queue</xsl:variable>
<xsl:key name="queued" match="/page/jobs/jobs/item" use="@job"/>
<xsl:key name="weighing" match="/page/prio/rows/item/factors/item[number(@product) != 0 or (@weight != 0 and @factor != 'site' and @factor != 'nice')]" use="@factor"/>
<!-- Rows on the page; the document has more. -->
<xsl:variable name="at-once" select="150"/>
<!-- The factors that weigh something here, each once. -->
<xsl:variable name="weighing" select="/page/prio/rows/item/factors/item[number(@product) != 0 or (@weight != 0 and @factor != 'site' and @factor != 'nice')]"/>
<xsl:variable name="factors" select="$weighing[generate-id() = generate-id(key('weighing', @factor)[1])]"/>

<xsl:template name="content">
	<xsl:variable name="n" select="count(prio/rows/item)"/>
	<xsl:choose>
		<xsl:when test="$n = 0 and not(jobs/jobs/item)"><p class="none">No job waits.</p></xsl:when>
		<xsl:when test="prio/@order = 'priority'">
			<p>In the order of their priority, which is the sum of the factors. A job's own page has the latest time at which it starts.
			<xsl:if test="$n &gt; $at-once or prio/@left_out &gt; 0">These are the first <xsl:value-of select="$at-once"/> of <xsl:value-of select="f:count($n + prio/@left_out)"/><xsl:if test="prio/@left_out &gt; 0"> (compared: the <xsl:value-of select="$n"/> that were submitted first)</xsl:if>.</xsl:if></p>
			<xsl:call-template name="by-priority"/>
		</xsl:when>
		<xsl:otherwise>
			<p>In the order of submission: this site weighs no priorities. A job's own page has the latest time at which it starts.
			<xsl:if test="$n &gt; $at-once or prio/@left_out &gt; 0">These are the first <xsl:value-of select="$at-once"/> of <xsl:value-of select="f:count($n + prio/@left_out)"/>.</xsl:if></p>
			<xsl:call-template name="by-submission"/>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="by-priority">
	<div class="scroll" tabindex="0" role="region" aria-label="Queue">
	<table>
		<thead><tr><th scope="col" class="figure">Place</th><th scope="col">Job</th><th scope="col">Name</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Queue</th>
			<th scope="col" class="figure">Priority</th>
			<xsl:for-each select="$factors"><th scope="col" class="figure"><xsl:value-of select="@factor"/></th></xsl:for-each>
			<th scope="col">Why it waits</th></tr></thead>
		<tbody><xsl:for-each select="prio/rows/item">
			<xsl:sort select="@priority" data-type="number" order="descending"/>
			<xsl:sort select="@job" data-type="number"/>
			<xsl:if test="position() &lt;= $at-once">
				<xsl:variable name="row" select="."/>
				<tr><xsl:if test="@user = /page/@user"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<td class="figure"><xsl:value-of select="position()"/></td>
				<th scope="row"><xsl:call-template name="job-link"/></th><td class="name"><xsl:value-of select="@name"/></td><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td><td><xsl:value-of select="@queue"/></td>
				<td class="figure"><xsl:value-of select="f:count(@priority)"/></td>
				<xsl:for-each select="$factors"><td class="figure"><xsl:value-of select="f:count($row/factors/item[@factor = current()/@factor]/@product)"/></td></xsl:for-each>
				<td class="sentence"><xsl:value-of select="key('queued', @job)/@why"/></td></tr>
			</xsl:if>
		</xsl:for-each></tbody>
	</table>
	</div>
	<p class="note">Factors in points; each is its value times its weight here:
	<xsl:for-each select="$factors"><xsl:if test="position() &gt; 1">, </xsl:if><xsl:value-of select="@factor"/><xsl:text> </xsl:text><xsl:value-of select="f:count(@weight)"/></xsl:for-each>.</p>
</xsl:template>

<xsl:template name="by-submission">
	<div class="scroll" tabindex="0" role="region" aria-label="Queue"><table>
		<thead><tr><th scope="col" class="figure">Place</th><th scope="col">Job</th><th scope="col">Name</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Queue</th><th scope="col">Submitted</th><th scope="col">Why it waits</th></tr></thead>
		<tbody><xsl:for-each select="jobs/jobs/item">
			<xsl:sort select="@job" data-type="number"/>
			<xsl:if test="position() &lt;= $at-once">
				<tr><xsl:if test="@user = /page/@user"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<td class="figure"><xsl:value-of select="position()"/></td><th scope="row"><xsl:call-template name="job-link"/></th><td class="name"><xsl:value-of select="@name"/></td><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td><td><xsl:value-of select="@queue"/></td>
				<td><xsl:value-of select="f:time(@submitted_ns)"/></td><td class="sentence"><xsl:value-of select="@why"/></td></tr>
			</xsl:if>
		</xsl:for-each></tbody>
	</table></div>
</xsl:template>
</xsl:stylesheet>
